import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { AutomationStatus, RunAs, Trigger, TriggerType } from '@commonplace/proto/automations/v1/automation.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { handedOverTo } from '../src/acts-as.js';
import { definitionId } from '../src/definitions/records.js';
import { startRun } from '../src/runs/start.js';
import {
  actionsOf,
  type CreateOptions,
  type DefinitionStage,
  NOTE,
  openDefinitionStage,
  type PlainAction,
  tokenOf,
} from './definitions-stage.js';

let stage: DefinitionStage;
beforeAll(async () => {
  stage = await openDefinitionStage({ COMMONPLACE_AUTOMATIONS: '60' });
});
afterAll(() => stage.close());

const request = (config: Record<string, unknown> = {}): PlainAction => ({
  id: 'call',
  type: 'http_request',
  config: { url: 'https://api.example.com/x', ...config },
});
const KEY = { name: 'KEY', value: 'a secret value', allowedHosts: ['api.example.com'] };

describe('an automation', () => {
  test('is returned as it was saved, with defaults', async () => {
    const ada = stage.person('Ada');
    const made = await stage.create(ada, {
      description: 'Says hello',
      actions: [
        { type: 'notify', config: { user_ids: [ada.userId], title: 'Hi {{trigger.by.name}}' } },
        { type: 'stop' },
        { type: 'stop' },
      ],
      conditions: [{ path: 'trigger.input.a', op: 'eq', value: 1 }, { any: [{ path: 'trigger.x', op: 'exists' }] }],
    });
    const read = await stage.get(ada, made.id);
    expect(read).toEqual(made);
    expect(read).toMatchObject({
      ...{ name: 'Welcome', isActive: true, timeoutSeconds: 600, retry: { maxAttempts: 2, backoffSeconds: 30 } },
      ...{ runAs: RunAs.CREATOR, status: AutomationStatus.OK, failureCount: 0, version: 1, secrets: [] },
      actsAs: { id: ada.userId, name: 'Ada' },
      createdBy: { id: ada.userId },
    });
    expect(read.actions.map(({ id, onError }) => [id, onError])).toEqual([
      ['notify', 'stop'],
      ['stop', 'stop'],
      ['stop_2', 'stop'],
    ]);
    expect(read.conditions.map(({ any, value }) => [any.length, value.toString()])).toEqual([
      [0, '1'],
      [1, ''],
    ]);
    expect(read.webhookUrl).toBeUndefined();
  });

  test('is read by viewers, and changed by its creator and administrators', async () => {
    const [creator, other] = [stage.person('Creator'), stage.person('Other')];
    const [viewer, admin] = [stage.person('Viewer', 'viewer'), stage.person('Admin', 'admin')];
    const { id } = await stage.create(creator, { trigger: { type: TriggerType.WEBHOOK } });
    expect((await stage.get(creator, id)).webhookUrl).toContain('/api/v1/hooks/automations/');
    expect((await stage.get(admin, id)).webhookUrl).toBeDefined();
    for (const reader of [viewer, other]) {
      expect((await stage.get(reader, id)).webhookUrl).toBeUndefined();
      await expect(stage.update(reader, id, { name: 'Mine' })).rejects.toMatchObject({ reason: 'insufficient_role' });
      await expect(stage.remove(reader, id)).rejects.toMatchObject({ reason: 'insufficient_role' });
    }
    await expect(stage.create(viewer)).rejects.toMatchObject({ reason: 'insufficient_role' });
    const stranger = stage.person('Stranger');
    stage.roles.delete(stranger.userId);
    await expect(stage.get(stranger, id)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(stage.create(stranger)).rejects.toMatchObject({ reason: 'not_found', param: 'workspace_id' });
    await expect(stage.list(stranger, { workspaceId: stage.workspaceId })).rejects.toMatchObject({
      reason: 'not_found',
    });
    expect((await stage.list(stranger)).items).toEqual([]);
    // A person who has lost the role editor can no longer change automations that they created.
    stage.roles.set(creator.userId, 'viewer');
    await eventually(async () => {
      const outcome = await stage
        .update(creator, id, { name: 'Mine' })
        .catch((error: { reason: string }) => error.reason);
      expect(outcome).toBe('insufficient_role');
    });
    expect((await stage.update(admin, id, { name: 'Ours' })).name).toBe('Ours');
    expect(await stage.remove(admin, id)).toEqual({ id, deleted: true });
    await expect(stage.get(admin, id)).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('is listed by name, with filters and cursors', async () => {
    const own = await openDefinitionStage();
    try {
      const ada = own.person('Ada');
      for (const name of ['Delta', 'Alpha', 'Charlie', 'bravo']) {
        const trigger = { type: name === 'bravo' ? TriggerType.WEBHOOK : TriggerType.MANUAL };
        const workspaceId = name === 'Delta' ? own.otherWorkspaceId : own.workspaceId;
        await own.create(ada, {
          name,
          workspaceId,
          trigger,
          description: `about ${name}`,
          isActive: name !== 'Charlie',
        });
      }
      const names = async (filter: Parameters<typeof own.list>[1]) =>
        (await own.list(ada, filter)).items.map(({ name }) => name);
      expect(await names({})).toEqual(['Alpha', 'bravo', 'Charlie', 'Delta']);
      expect(await names({ workspaceId: own.workspaceId })).toEqual(['Alpha', 'bravo', 'Charlie']);
      expect(await names({ isActive: false })).toEqual(['Charlie']);
      expect(await names({ triggerType: TriggerType.WEBHOOK })).toEqual(['bravo']);
      expect(await names({ q: 'ABOUT al' })).toEqual(['Alpha']);
      expect(await names({ sort: '-name' })).toEqual(['Delta', 'Charlie', 'bravo', 'Alpha']);
      expect(await names({ sort: 'created_at' })).toEqual(['Delta', 'Alpha', 'Charlie', 'bravo']);
      expect((await names({ sort: '-updated_at' }))[0]).toBe('bravo');
      const first = await own.list(ada, { page: { limit: 3, offset: 0, cursor: '' } });
      expect(first.page).toMatchObject({ hasMore: true, total: 4 });
      const next = await own.list(ada, { page: { limit: 3, offset: 0, cursor: first.page?.nextCursor ?? '' } });
      expect(next.items.map(({ name }) => name)).toEqual(['Delta']);
      const plan = await own.records.automations.explain({
        where: { workspaceId: own.workspaceId },
        sort: ['nameFold'],
        limit: 10,
      });
      expect(plan.indexed).toBe(true);
    } finally {
      await own.close();
    }
  });

  test('is listed by its creator and by times', async () => {
    const [ada, bob] = [stage.person('Ada'), stage.person('Bob')];
    const workspaceId = stage.workspaceId;
    const made = await stage.create(ada);
    const names = async (fields: object) =>
      (await stage.list(bob, { workspaceId, createdBy: ada.userId, ...fields })).items.map(({ id }) => id);
    expect(await names({})).toEqual([made.id]);
    expect(await names({ createdAfter: made.createdAt })).toEqual([]);
    expect(await names({ updatedBefore: new Date(Date.parse(made.updatedAt ?? '') + 1).toISOString() })).toEqual([
      made.id,
    ]);
    expect(await names({ createdBy: bob.userId })).toEqual([]);
  });

  test('follows only changes of fields that work items have', async () => {
    const ada = stage.person('Ada');
    const following = (...fields: string[]) =>
      stage.create(ada, { trigger: { type: TriggerType.WORK_ITEM_CHANGED, config: { fields } } });
    expect((await following('status', 'due_at')).trigger?.config?.fields).toEqual(['status', 'due_at']);
    await expect(following('status', 'number')).rejects.toMatchObject({
      faults: [{ param: 'trigger.config.fields[1]', code: 'invalid_value' }],
    });
  });

  test('honors If-Match, and refuses changes in an archived workspace', async () => {
    const ada = stage.person('Ada');
    const made = await stage.create(ada, { workspaceId: stage.otherWorkspaceId });
    await expect(stage.update(ada, made.id, { name: 'x' }, { baseVersion: 7 })).rejects.toMatchObject({
      reason: 'version_conflict',
      details: { updated_by: { type: 'user', id: ada.userId } },
    });
    expect(await stage.update(ada, made.id, { name: 'x' }, { baseVersion: made.version })).toMatchObject({
      version: 2,
    });
    await expect(stage.update(ada, made.id, {})).rejects.toMatchObject({ reason: 'no_update_field' });
    stage.archived.add(stage.otherWorkspaceId);
    const bob = stage.person('Bob', 'admin');
    await expect(stage.update(bob, made.id, { name: 'y' })).rejects.toMatchObject({ reason: 'workspace_archived' });
    await expect(stage.create(bob, { workspaceId: stage.otherWorkspaceId })).rejects.toMatchObject({
      reason: 'workspace_archived',
    });
    await expect(stage.remove(bob, made.id)).rejects.toMatchObject({ reason: 'workspace_archived' });
    expect((await stage.get(bob, made.id)).name).toBe('x');
    stage.archived.clear();
  });

  test('counts against the quota of its workspace', async () => {
    const own = await openDefinitionStage({ COMMONPLACE_AUTOMATIONS: '2' });
    try {
      const ada = own.person('Ada');
      const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => own.create(ada)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      await expect(own.create(ada)).rejects.toMatchObject({ reason: 'limit_reached' });
      await own.create(ada, { workspaceId: own.otherWorkspaceId });
      const [first] = (await own.list(ada, { workspaceId: own.workspaceId })).items;
      await own.remove(ada, first?.id ?? '');
      await own.create(ada);
    } finally {
      await own.close();
    }
  });
});

/** Returns the codes of a refusal by the fields that it names. */
function faultsOf(error: unknown): Record<string, string> {
  const {
    faults = [],
    param,
    reason,
  } = error as { faults?: { param: string; code: string }[]; param: string; reason: string };
  return faults.length > 0 ? Object.fromEntries(faults.map((fault) => [fault.param, fault.code])) : { [param]: reason };
}

describe('a definition', () => {
  const refused = async (options: CreateOptions): Promise<Record<string, string>> => {
    const ada = stage.person('Ada');
    const before = await stage.records.automations.count({});
    const error = await stage.create(ada, options).catch((thrown: unknown) => thrown);
    expect(await stage.records.automations.count({})).toBe(before);
    return faultsOf(error);
  };

  test.each<[string, PlainAction, string, string]>([
    ['an unknown field', { type: 'stop', config: { foo: 1 } }, 'config.foo', 'unknown_field'],
    ['no own field', { type: 'stop', config: JSON.parse('{"__proto__":1}') }, 'config.__proto__', 'unknown_field'],
    ['a missing field', { type: 'comment', config: { resource_id: newId() } }, 'config.body', 'missing_field'],
    ['a wrong type', { type: 'comment', config: { resource_id: newId(), body: 5 } }, 'config.body', 'invalid_type'],
    ['no id', { type: 'comment', config: { resource_id: 'x', body: 'y' } }, 'config.resource_id', 'invalid_type'],
    ['a value outside of the list', { type: 'stop', config: { status: 'x' } }, 'config.status', 'invalid_value'],
    ['too long a delay', { type: 'delay', config: { seconds: 2_592_001 } }, 'config.seconds', 'invalid_value'],
    [
      'two kinds of delay',
      { type: 'delay', config: { seconds: 1, until: '2030-01-01T00:00:00Z' } },
      'config.seconds',
      'missing_field',
    ],
    ['no delay', { type: 'delay' }, 'config.seconds', 'missing_field'],
    [
      'a partial template for a number',
      { type: 'delay', config: { seconds: '1{{trigger.x}}' } },
      'config.seconds',
      'invalid_type',
    ],
    ['an invalid template', { type: 'stop', config: { message: '{{trigger' } }, 'config.message', 'invalid_template'],
    ['an unknown root', { type: 'stop', config: { message: '{{env.HOME}}' } }, 'config.message', 'invalid_template'],
    [
      'a step that does not exist',
      { type: 'stop', config: { message: '{{steps.x.output}}' } },
      'config.message',
      'invalid_template',
    ],
    [
      'its own step',
      { id: 'me', type: 'stop', config: { message: '{{steps.me.output}}' } },
      'config.message',
      'invalid_template',
    ],
    [
      'a secret in another action',
      { type: 'stop', config: { message: '{{secrets.KEY}}' } },
      'config.message',
      'invalid_template',
    ],
    ['a secret in the method', request({ method: '{{secrets.KEY}}' }), 'config.method', 'invalid_template'],
    ['an unknown secret', request({ body: '{{secrets.NONE}}' }), 'config.body', 'invalid_template'],
    ['an unknown secret to sign with', request({ sign_with: 'NONE' }), 'config.sign_with', 'invalid_value'],
    ['a secret that can not sign', request({ sign_with: 'KEY' }), 'config.sign_with', 'invalid_value'],
    [
      'a secret for another host',
      request({ url: 'https://evil.example.net/{{secrets.KEY}}' }),
      'config.url',
      'invalid_value',
    ],
    ...['{{trigger.x}}', '{{trigger.x}}/b', '{{trigger.x}}?q=1', '{{trigger.x}}{{trigger.y}}#c'].map(
      (rest): [string, PlainAction, string, string] => [
        `a host with ${rest} behind it`,
        request({ url: `https://api.example.com${rest}` }),
        'config.url',
        'invalid_value',
      ],
    ),
    [
      'an address that is not public',
      request({ url: 'https://10.0.0.1/{{trigger.x}}' }),
      'config.url',
      'url_not_allowed',
    ],
    ['http', request({ url: 'http://api.example.com' }), 'config.url', 'url_not_allowed'],
    ['a name of the own network', request({ url: 'https://db.internal/' }), 'config.url', 'url_not_allowed'],
    ['a header of the server', request({ headers: { Host: 'x' } }), 'config.headers.Host', 'invalid_value'],
    [
      'a header with a line break',
      request({ headers: { 'X-A': 'a\r\nX-B: c' } }),
      'config.headers.X-A',
      'invalid_value',
    ],
    ['a header beyond Latin-1', request({ headers: { 'X-A': '5 €' } }), 'config.headers.X-A', 'invalid_value'],
    ['a jump backwards', { type: 'stop', on_error: 'goto:note' }, 'on_error', 'invalid_value'],
    ['a jump to nowhere', { type: 'stop', on_error: 'goto:' }, 'on_error', 'invalid_value'],
    ['something else on an error', { type: 'stop', on_error: 'retry' }, 'on_error', 'invalid_value'],
    [
      'a condition without a path',
      { type: 'condition', config: { conditions: [{ op: 'eq' }] } },
      'config.conditions[0].path',
      'missing_field',
    ],
    [
      'a condition on a secret',
      { type: 'condition', config: { conditions: [{ path: 'secrets.KEY', op: 'exists' }] } },
      'config.conditions[0].path',
      'invalid_template',
    ],
    ['an id that is taken', { ...NOTE }, 'id', 'invalid_value'],
    ['an id that templates can not name', { id: '1', type: 'stop' }, 'id', 'invalid_value'],
    ['a config that is too long', { type: 'stop', config: { message: 'x'.repeat(70_000) } }, 'config', 'invalid_value'],
  ])('is refused for an action with %s', async (_, action, at, code) => {
    expect(await refused({ actions: [NOTE, action], secrets: [KEY] })).toEqual({ [`actions[1].${at}`]: code });
  });

  test('reports all its faults at once, and stores nothing', async () => {
    const wrong = await refused({
      actions: [{ type: 'comment' }, { type: 'stop', config: { message: '{{x}}' } }],
      conditions: [
        { path: 'steps.a', op: 'eq', value: 1 },
        { path: 'trigger.a', op: 'in', value: 1 },
      ],
      trigger: { type: TriggerType.ROW_CREATED, config: { types: ['row.created'] } },
      secrets: [{ name: 'no-name', value: undefined, allowedHosts: [] }],
    });
    expect(wrong).toEqual({
      'secrets[0].name': 'invalid_value',
      'secrets[0].value': 'missing_field',
      'secrets[0].allowed_hosts': 'missing_field',
      'trigger.config.types': 'unknown_field',
      'trigger.config.table_id': 'missing_field',
      'conditions[0].path': 'invalid_template',
      'conditions[1].value': 'invalid_value',
      'actions[0].config.resource_id': 'missing_field',
      'actions[0].config.body': 'missing_field',
      'actions[1].config.message': 'invalid_template',
    });
  });

  test('may use outputs of earlier actions, jump forward, and send secrets to allowed hosts', async () => {
    const ada = stage.person('Ada');
    const made = await stage.create(ada, {
      actions: [
        {
          id: 'find',
          type: 'search',
          config: { query: '{{trigger.event.data.name | default: "x"}}' },
          on_error: 'goto:end',
        },
        {
          id: 'check',
          type: 'condition',
          config: { conditions: [{ path: 'steps.find.output.total', op: 'gt', value: 0 }], else: 'goto:end' },
        },
        request({
          url: 'https://API.example.com/{{steps.find.output.items[0].id}}?key={{secrets.KEY}}',
          headers: { Authorization: 'Bearer {{secrets.KEY}}' },
          body: { text: '{{steps.find.output}}' },
        }),
        { id: 'end', type: 'stop' },
      ],
      secrets: [KEY],
    });
    expect(made.secrets).toEqual([{ name: 'KEY', allowedHosts: ['api.example.com'] }]);
    expect(JSON.stringify(made)).not.toContain(KEY.value);
    expect(JSON.stringify(await stage.records.automations.get(made.id))).not.toContain(KEY.value);
  });

  test('names columns that its table has, or had when it was saved', async () => {
    const ada = stage.person('Ada');
    const [table, other] = [newId(), newId()];
    for (const id of [table, other]) {
      stage.readable.set(id, { workspaceId: stage.workspaceId, type: ResourceType.TABLE });
      stage.columns.set(id, ['stage', 'name']);
    }
    const trigger = (columns: string[], tableId = table) =>
      Trigger.fromPartial({ type: TriggerType.ROW_UPDATED, config: { tableId, columns } });
    const unknown = (...at: number[]) =>
      Object.fromEntries(at.map((i) => [`trigger.config.columns[${i}]`, 'unknown_column']));
    expect(await refused({ trigger: trigger(['stage', 'owner', 'The name']) })).toEqual(unknown(1, 2));
    const { id } = await stage.create(ada, { trigger: trigger(['stage', 'name']) });
    stage.columns.set(table, ['name', 'owner']);
    // The deleted column stays, also beside a new one.
    await stage.update(ada, id, { trigger: trigger(['stage', 'owner']) });
    const changed = (next: Trigger) => stage.update(ada, id, { trigger: next }).then(() => ({}), faultsOf);
    expect(await changed(trigger(['name', 'nothing']))).toEqual(unknown(1));
    expect(await changed(trigger(['stage', 'owner'], other))).toEqual(unknown(1));
    stage.columns.delete(table);
    await stage.update(ada, id, { trigger: trigger(['owner']) });
    expect(await changed(trigger(['owner', 'name']))).toEqual({ 'trigger.config.table_id': 'not_found' });
  });

  test('names targets of its own workspace that its author can read', async () => {
    const ada = stage.person('Ada');
    const [table, folder, foreign] = [newId(), newId(), newId()];
    stage.readable.set(table, { workspaceId: stage.workspaceId, type: ResourceType.TABLE });
    stage.readable.set(folder, { workspaceId: stage.workspaceId, type: ResourceType.FOLDER });
    stage.readable.set(foreign, { workspaceId: stage.otherWorkspaceId, type: ResourceType.TABLE });
    const rows = (tableId: string) => ({ trigger: { type: TriggerType.ROW_UPDATED, config: { tableId } } });
    expect((await stage.create(ada, rows(table))).trigger?.config?.tableId).toBe(table);
    expect(await refused(rows(foreign))).toEqual({ 'trigger.config.table_id': 'not_found' });
    expect(await refused(rows(newId()))).toEqual({ 'trigger.config.table_id': 'not_found' });
    expect(await refused(rows(folder))).toEqual({ 'trigger.config.table_id': 'invalid_value' });
    const [form, hidden, foreignForm] = [newId(), newId(), newId()];
    stage.forms.set(form, table).set(table, table).set(hidden, newId()).set(foreignForm, foreign);
    const submitted = (formId: string) => ({ trigger: { type: TriggerType.FORM_SUBMISSION, config: { formId } } });
    for (const id of [form, table]) await stage.create(ada, submitted(id));
    for (const id of [hidden, foreignForm, folder, newId()]) {
      expect(await refused(submitted(id))).toEqual({ 'trigger.config.form_id': 'not_found' });
    }
    const [tag, foreignTag] = [newId(), newId()];
    stage.tags.set(tag, stage.workspaceId).set(foreignTag, stage.otherWorkspaceId);
    const tagged = (tagId: string) => ({
      trigger: { type: TriggerType.EVENT, config: { types: ['resource.updated'], tagId } },
    });
    const { id } = await stage.create(ada, tagged(tag));
    for (const wrong of [foreignTag, newId()]) {
      expect(await refused(tagged(wrong))).toEqual({ 'trigger.config.tag_id': 'not_found' });
    }
    // References to deleted targets may stay unchanged.
    stage.tags.delete(tag);
    const { trigger } = await stage.get(ada, id);
    await stage.update(ada, id, { name: 'Renamed', trigger });
    const events = (types: string[], parentId?: string) => ({
      trigger: { type: TriggerType.EVENT, config: { types, ...(parentId !== undefined && { parentId }) } },
    });
    await stage.create(ada, events(['content.updated', 'comment.created'], folder));
    expect(await refused(events([]))).toEqual({ 'trigger.config.types': 'missing_field' });
    expect(await refused(events(['toString', 'credits.low']))).toEqual({
      'trigger.config.types[0]': 'invalid_value',
      'trigger.config.types[1]': 'invalid_value',
    });
  });

  test('requires the scopes of its trigger and of its actions', async () => {
    const poor = stage.person('Poor', 'editor', ['automation:read', 'automation:write', 'resource:write']);
    await stage.create(poor);
    const send: PlainAction = { type: 'send_message', config: { conversation_id: newId(), text: 'x' } };
    await expect(stage.create(poor, { actions: [NOTE, send] })).rejects.toMatchObject({
      ...{ reason: 'insufficient_scope', param: 'actions[1]', details: { scope: 'im:write' } },
    });
    const trigger = { type: TriggerType.EVENT, config: { types: ['comment.created'] } };
    await expect(stage.create(poor, { trigger })).rejects.toMatchObject({
      ...{ reason: 'insufficient_scope', details: { scope: 'comment:read' } },
    });
  });
});

describe('a change', () => {
  test('makes its author the person whose rights the automation has, if it changes what the automation does', async () => {
    const [ada, bob] = [stage.person('Ada'), stage.person('Bob', 'admin')];
    const { id } = await stage.create(ada);
    expect((await stage.update(bob, id, { name: 'Renamed', timeoutSeconds: 60 })).actsAs?.id).toBe(ada.userId);
    expect((await stage.update(bob, id, { actions: { items: actionsOf([NOTE]) } })).actsAs?.id).toBe(ada.userId);
    expect((await stage.update(bob, id, { actions: { items: actionsOf([NOTE, { type: 'stop' }]) } })).actsAs?.id).toBe(
      bob.userId,
    );
    expect((await stage.update(ada, id, { runAs: RunAs.TRIGGERING_USER })).actsAs?.id).toBe(ada.userId);
    const weak = { ...bob, credential: { ...bob.credential, id: 'key', scopes: ['automation:write'] } };
    await expect(stage.update(weak, id, { runAs: RunAs.CREATOR })).rejects.toMatchObject({
      reason: 'insufficient_scope',
    });
    const record = await stage.records.automations.get(id);
    expect(record?.definition.actsAs).toMatchObject({ userId: ada.userId, credentialId: ada.credential.id });
    expect(record?.createdBy.id).toBe(ada.userId);
  });

  test('that switches on what was handed over makes its author the person whose rights the automation has', async () => {
    const [ada, heir, admin] = [stage.person('Ada'), stage.person('Heir'), stage.person('Admin', 'admin')];
    const handedOver = async () => {
      const { id } = await stage.create(ada);
      await inWork(stage.store, async (work) => {
        const before = await work.get(stage.records.automations, id);
        if (before === undefined) throw new Error('The automation is gone.');
        const actsAs = handedOverTo(before.definition.actsAs, { id: heir.userId, name: 'Heir' });
        const definition = { ...before.definition, actsAs };
        work.replace(stage.records.automations, before, { ...before, definition, isActive: false });
      });
      return id;
    };
    const id = await handedOver();
    expect((await stage.update(admin, id, { name: 'Renamed' })).actsAs?.id).toBe(heir.userId);
    const weak = { ...admin, credential: { ...admin.credential, id: 'key', scopes: ['automation:write'] } };
    await expect(stage.update(weak, id, { isActive: true })).rejects.toMatchObject({ reason: 'insufficient_scope' });
    expect((await stage.update(admin, id, { isActive: true })).actsAs?.id).toBe(admin.userId);
    await stage.update(admin, id, { isActive: false });
    // Later it is as with any other automation.
    expect((await stage.update(stage.person('Boss', 'admin'), id, { isActive: true })).actsAs?.id).toBe(admin.userId);
  });

  test('keeps the definition that runs were triggered with until no run can need it', async () => {
    const ada = stage.person('Ada');
    const { id } = await stage.create(ada);
    await stage.update(ada, id, { name: 'Same definition' });
    expect(await stage.records.definitions.count({ automationId: id })).toBe(1);
    await stage.update(ada, id, { actions: { items: actionsOf([{ type: 'delay', config: { seconds: 86_400 } }]) } });
    const [first, second] = await stage.records.definitions.getMany([definitionId(id, 1), definitionId(id, 2)]);
    const days = (Date.parse(first?.deleteAt ?? '') - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(30);
    expect(second?.deleteAt).toBeUndefined();
    expect(second?.definition.actions[0]?.type).toBe('delay');
    await stage.remove(ada, id);
    const left = await stage.records.definitions.get(definitionId(id, 2));
    expect(Date.parse(left?.deleteAt ?? '')).toBeGreaterThan(Date.parse(first?.deleteAt ?? ''));
  });

  test('is applied completely or not at all, even for concurrent changes', async () => {
    const ada = stage.person('Ada');
    const { id } = await stage.create(ada);
    const bad = { name: 'New name', actions: { items: actionsOf([{ type: 'comment' }]) } };
    await expect(stage.update(ada, id, bad)).rejects.toMatchObject({ reason: 'validation_failed' });
    expect(await stage.get(ada, id)).toMatchObject({ name: 'Welcome', version: 1 });
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(
      names.map((name) => stage.update(ada, id, { actions: { items: actionsOf([{ ...NOTE, id: name }]) } })),
    );
    const record = await stage.records.automations.get(id);
    expect(record?.definitionVersion).toBe(5);
    const stored = await stage.records.definitions.get(definitionId(id, 5));
    expect(stored?.definition).toEqual(record?.definition);
    expect(await stage.records.definitions.count({ automationId: id })).toBe(5);
  });

  test('that deactivates skips the waiting runs, and activating resets the failures', async () => {
    const ada = stage.person('Ada');
    const { id } = await stage.create(ada);
    const { automations, runs, lanes } = stage.records;
    const automation = await automations.get(id);
    if (automation === undefined) throw new Error('not there');
    const work = stage.store.begin();
    const by = { type: 'user', id: ada.userId, name: 'Ada' } as const;
    const run = await startRun(
      { runs, lanes, settings: { automationQueue: 10, automationRunDays: 30 } } as never,
      automation,
      { id: newId(), trigger: { type: 'manual', by }, input: {} },
      work,
      Date.now(),
    );
    await work.commit();
    const waiting = stage.store.begin();
    const lane = await lanes.get(id);
    const { version: _, dueAt: __, ...rest } = run;
    waiting.insert(runs, { ...rest, id: newId(), seq: 2 });
    if (lane !== undefined) waiting.replace(lanes, lane, { ...lane, lastSeq: 2, queued: 1, failureCount: 4 });
    await waiting.commit();
    await stage.update(ada, id, { isActive: false });
    await eventually(async () => {
      const [skipped] = await runs.find({ where: { automationId: id, status: 'skipped' }, limit: 5 });
      expect(skipped).toMatchObject({ skipReason: 'inactive', seq: 2 });
    });
    expect(await lanes.get(id)).toMatchObject({ queued: 0, failureCount: 4 });
    expect(await stage.update(ada, id, { isActive: true })).toMatchObject({ failureCount: 0, isActive: true });
  });
});

describe('a secret', () => {
  test('is kept if it is not sent again, and removed if it is omitted', async () => {
    const ada = stage.person('Ada');
    const actions = [request({ body: '{{secrets.KEY}}' })];
    const { id } = await stage.create(ada, { actions, secrets: [KEY, { ...KEY, name: 'SPARE' }] });
    const sealed = async () => (await stage.records.automations.get(id))?.secrets.map((one) => one.sealed);
    const before = await sealed();
    const kept = { ...KEY, value: undefined };
    await stage.update(ada, id, { secrets: { items: [kept] } });
    expect(await sealed()).toEqual(before?.slice(0, 1));
    await expect(stage.update(ada, id, { secrets: { items: [] } })).rejects.toMatchObject({
      ...{ reason: 'invalid_template', param: 'actions[0].config.body' },
    });
    const elsewhere = { ...kept, allowedHosts: ['*.example.org'] };
    await expect(stage.update(ada, id, { secrets: { items: [elsewhere] } })).rejects.toMatchObject({
      param: 'actions[0].config.url',
    });
    expect(await sealed()).toEqual(before?.slice(0, 1));
  });

  test('must be entered again by another editor who changes an action that uses it, or its allowed hosts', async () => {
    const [ada, bob] = [stage.person('Ada'), stage.person('Bob', 'admin')];
    const actions = [NOTE, request({ body: '{{secrets.KEY}}' })];
    const { id } = await stage.create(ada, { actions, secrets: [KEY] });
    const changed = { items: actionsOf([NOTE, request({ body: 'x {{secrets.KEY}}' })]) };
    const reentry = { reason: 'secret_reentry_required', details: { names: 'KEY' } };
    await expect(stage.update(bob, id, { actions: changed })).rejects.toMatchObject(reentry);
    // An action with another id counts as another action.
    const renamed = { items: actionsOf([NOTE, { ...request({ body: '{{secrets.KEY}}' }), id: 'other' }]) };
    await expect(stage.update(bob, id, { actions: renamed })).rejects.toMatchObject(reentry);
    const kept = { ...KEY, value: undefined };
    await expect(stage.update(bob, id, { secrets: { items: [kept] }, actions: changed })).rejects.toMatchObject(
      reentry,
    );
    const wider = { ...kept, allowedHosts: [...KEY.allowedHosts, 'evil.example.net'] };
    await expect(stage.update(bob, id, { secrets: { items: [wider] } })).rejects.toMatchObject(reentry);
    // Changes of other actions need no secret.
    const beside = { items: actionsOf([{ ...NOTE, id: 'first' }, ...actions.slice(1)]) };
    await stage.update(bob, id, { actions: beside });
    await stage.update(bob, id, { actions: changed, secrets: { items: [{ ...KEY, value: 'another' }] } });
    await expect(stage.update(ada, id, { actions: beside })).rejects.toMatchObject(reentry);
  });
});

describe('the token of a webhook', () => {
  test('is replaced at once, and removed with the trigger', async () => {
    const ada = stage.person('Ada');
    const made = await stage.create(ada, { trigger: { type: TriggerType.WEBHOOK } });
    const rotated = await stage.update(ada, made.id, { rotateWebhookToken: true });
    expect(tokenOf(rotated)).toMatch(/^[\w-]{43}$/);
    expect(tokenOf(rotated)).not.toBe(tokenOf(made));
    await expect(stage.hook(tokenOf(made), '{}')).rejects.toMatchObject({ reason: 'not_found' });
    expect((await stage.hook(tokenOf(rotated), '{}')).runId).not.toBe('');
    const manual = await stage.update(ada, made.id, { trigger: { type: TriggerType.MANUAL, config: undefined } });
    expect(manual.webhookUrl).toBeUndefined();
    await expect(stage.hook(tokenOf(rotated), '{}')).rejects.toMatchObject({ reason: 'not_found' });
    await expect(stage.update(ada, made.id, { rotateWebhookToken: true })).rejects.toMatchObject({
      param: 'rotate_webhook_token',
    });
    expect(JSON.stringify(await stage.records.automations.get(made.id))).not.toContain('hookToken');
  });
});

test('a page of automations ends early when their actions are large', async () => {
  const ada = stage.person('Ada');
  const content = 'x'.repeat(60_000);
  const actions = Array.from(
    { length: 4 },
    (_, i): PlainAction => ({ ...NOTE, id: `a${i}`, config: { ...NOTE.config, content } }),
  );
  for (let i = 0; i < 20; i++) await stage.create(ada, { name: `Large ${String(i).padStart(2, '0')}`, actions });
  const first = await stage.list(ada, { q: 'Large', page: { limit: 50, offset: 0, cursor: '' } });
  expect(first.items.length).toBeLessThan(20);
  expect(first.page).toMatchObject({ total: 20, hasMore: true, nextOffset: first.items.length });
  const cursor = first.page?.nextCursor ?? '';
  const rest = await stage.list(ada, { q: 'Large', page: { limit: 50, offset: 0, cursor } });
  expect([...first.items, ...rest.items].map(({ name }) => name)).toEqual(
    Array.from({ length: 20 }, (_, i) => `Large ${String(i).padStart(2, '0')}`),
  );
});
