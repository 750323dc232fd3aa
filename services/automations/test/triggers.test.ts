import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AutomationRunRecord } from '../src/runs/records.js';
import { ActiveTriggers } from '../src/triggers/active.js';
import { handleEvents } from '../src/triggers/consumer.js';
import { eventBy, openTriggerStage, type Person, type TriggerStage } from './trigger-stage.js';

let stage: TriggerStage;
let workspaceId: string;
let ada: Person;

beforeAll(async () => {
  stage = await openTriggerStage();
}, 60_000);
afterAll(() => stage.close());

beforeEach(() => {
  workspaceId = newId();
  ada = stage.person('Ada');
  stage.join(ada, workspaceId);
});

const updated = (resourceIds: readonly string[], more: object = {}, by: Person | undefined = ada) =>
  eventBy(
    by,
    'resources.resource.updated',
    { resourceIds, changedFields: ['name'], version: 2 },
    { workspaceId, ...more },
  );

/** Returns the data of the event that a run was started by. */
const dataOf = ({ input = {} }: AutomationRunRecord) => (input.event as { data: Record<string, unknown> }).data;

describe('events', () => {
  test('an event that arrives twice starts one run of each automation', async () => {
    const first = await stage.automation(workspaceId, ada, { type: 'event', types: ['resource.updated'] });
    const second = await stage.automation(workspaceId, ada, { type: 'event', types: ['resource.updated'] });
    const event = updated([stage.resource(workspaceId)]);
    await stage.publish(event);
    await stage.settled();
    // The bus delivers again what a process that died has not acknowledged.
    const parts = await consumerParts();
    await handleEvents(parts, [event, event]);
    for (const automation of [first, second]) {
      const runs = await stage.runsOf(automation);
      expect(runs).toHaveLength(1);
      expect(runs[0]).toMatchObject({ status: 'queued', workspaceId, chain: [], taints: [] });
      expect(runs[0]?.trigger).toEqual({ type: 'event', eventId: event.id, by: { type: 'user', ...ada } });
      expect(runs[0]?.actsAs.userId).toBe(ada.id);
    }
  });

  test('an event that always fails is parked, and later ones start their runs', async () => {
    const automation = await stage.automation(workspaceId, ada, { type: 'event', types: ['resource.updated'] });
    const broken = stage.resource(workspaceId);
    stage.broken.add(broken);
    const event = updated([stage.resource(workspaceId)]);
    await stage.publish(updated([broken]), event);
    const runs = await eventually(async () => {
      const found = await stage.runsOf(automation);
      expect(found).toHaveLength(1);
      return found;
    }, 60_000);
    expect(runs[0]?.trigger.eventId).toBe(event.id);
  }, 90_000);

  async function consumerParts() {
    const { store, bus, stage: own } = stage;
    const { automations, turns, runs, lanes } = stage.records;
    const records = { runs, lanes, settings: { automationQueue: 1_000, automationRunDays: 30 } };
    return {
      ...{ store, automations, turns, records, now: Date.now, systemCall: own.own.systemCall },
      active: new ActiveTriggers({ store, bus, automations }),
      memberships: await stage.memberships(),
      peers: stage.peers() as never,
    };
  }

  test('runs are numbered in the order of their events', async () => {
    const automation = await stage.automation(workspaceId, ada, { type: 'event', types: ['resource.updated'] });
    const subject = stage.resource(workspaceId);
    const events = Array.from({ length: 150 }, () => updated([subject], { subject }));
    const runs = await stage.runsAfter(automation, ...events);
    expect(runs.map(({ trigger }) => trigger.eventId)).toEqual(events.map(({ id }) => id));
    expect(runs.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  });

  test('filters match any ancestor, a type and a tag', async () => {
    const folder = stage.resource(workspaceId, { type: ResourceType.FOLDER });
    const inner = stage.resource(workspaceId, { type: ResourceType.FOLDER, ancestorIds: [folder] });
    const tag = newId();
    const deep = stage.resource(workspaceId, { ancestorIds: [folder, inner], tagIds: [tag] });
    const table = stage.resource(workspaceId, { type: ResourceType.TABLE, ancestorIds: [folder] });
    const aside = stage.resource(workspaceId);
    const types = ['resource.updated'];
    const below = await stage.automation(workspaceId, ada, { type: 'event', types, parentId: folder });
    const tables = await stage.automation(workspaceId, ada, { type: 'event', types, resourceType: 'table' });
    const tagged = await stage.automation(workspaceId, ada, { type: 'event', types, tagId: tag });
    const moved = await stage.automation(workspaceId, ada, { type: 'event', types: ['resource.moved'] });
    const events = [updated([deep]), updated([table]), updated([aside]), updated([aside, table, deep])];
    const resourceIdsOf = (runs: Awaited<ReturnType<typeof stage.runsOf>>) =>
      runs.map((run) => dataOf(run).resource_ids);
    expect(resourceIdsOf(await stage.runsAfter(below, ...events))).toEqual([[deep], [table], [table, deep]]);
    expect(resourceIdsOf(await stage.runsAfter(tables))).toEqual([[table], [table]]);
    expect(resourceIdsOf(await stage.runsAfter(tagged))).toEqual([[deep], [deep]]);
    expect(await stage.runsOf(moved)).toEqual([]);
  });

  test('an automation receives nothing that its person cannot see', async () => {
    const [open, secret] = [stage.resource(workspaceId), stage.resource(workspaceId)];
    stage.hidden.add(`${ada.id}:${secret}`);
    const automation = await stage.automation(workspaceId, ada, {
      type: 'event',
      types: ['resource.updated', 'message.created', 'import.finished'],
    });
    const [mine, others] = [newId(), newId()];
    stage.members.add(`${ada.id}:${mine}`);
    const message = (conversationId: string) =>
      eventBy(ada, 'messaging.message.created', { conversationId, seq: 1, text: 'words' }, { workspaceId });
    const imported = (userId: string) =>
      eventBy(ada, 'files.import.finished', { userId, importId: newId() }, { workspaceId });
    const events = [updated([secret]), updated([open, secret]), message(others), message(mine), imported(newId())];
    const runs = await stage.runsAfter(automation, ...events);
    expect(runs.map(({ trigger }) => trigger.eventId)).toEqual([events[1]?.id, events[3]?.id]);
    expect(JSON.stringify(runs[0]?.input)).not.toContain(secret);
  });

  test('another workspace, an archived one and an inactive automation start nothing', async () => {
    const types = ['resource.updated'];
    const off = await stage.automation(workspaceId, ada, { type: 'event', types }, { isActive: false });
    const elsewhere = newId();
    stage.join(ada, elsewhere);
    const other = await stage.automation(elsewhere, ada, { type: 'event', types });
    const archived = newId();
    stage.join(ada, archived, '', WorkspaceRole.EDITOR, true);
    const paused = await stage.automation(archived, ada, { type: 'event', types });
    const gone = newId();
    const left = await stage.automation(gone, ada, { type: 'event', types });
    await stage.publish(
      updated([stage.resource(workspaceId)]),
      updated([stage.resource(archived)], { workspaceId: archived, tenant: archived }),
      updated([stage.resource(gone)], { workspaceId: gone, tenant: gone }),
    );
    await stage.settled();
    for (const automation of [off, other, paused, left]) expect(await stage.runsOf(automation)).toEqual([]);
  });

  test('an automation starts at the first event after it was saved, changed and activated', async () => {
    const types = ['resource.updated'];
    const id = stage.resource(workspaceId);
    await stage.publish(updated([id]));
    await stage.settled();
    const early = updated([id], { time: new Date(Date.now() - 60_000).toISOString() });
    const automation = await stage.automation(workspaceId, ada, { type: 'event', types });
    expect(await stage.runsAfter(automation, early, updated([id]))).toHaveLength(1);
    const { automations } = stage.records;
    const change = async (more: Partial<typeof automation>) => {
      const work = stage.store.begin();
      const before = await work.get(automations, automation.id);
      if (before !== undefined) work.replace(automations, before, { ...before, ...more });
      await work.commit();
    };
    await change({ isActive: false });
    expect(await stage.runsAfter(automation, updated([id]))).toHaveLength(1);
    await change({ isActive: true });
    expect(await stage.runsAfter(automation, updated([id]))).toHaveLength(2);
    const trigger = { type: 'event', types: ['resource.moved'] } as const;
    await change({ definitionVersion: 2, definition: { ...automation.definition, trigger } });
    expect(await stage.runsAfter(automation, updated([id]))).toHaveLength(2);
  });
});

describe('the person whose rights a run has', () => {
  test('is the one who caused the event, or the creator if there is none', async () => {
    const bob = stage.person('Bob');
    stage.join(bob, workspaceId);
    const trigger = { type: 'event', types: ['resource.updated'] } as const;
    const automation = await stage.automation(workspaceId, ada, trigger, { runAs: 'triggering_user' });
    const id = stage.resource(workspaceId);
    const key = { type: 'api_key', id: newId(), name: 'Key', person: bob.id } as const;
    const agent = { type: 'agent', id: newId(), name: 'Agent', person: bob.id } as const;
    const runs = await stage.runsAfter(
      automation,
      updated([id], {}, bob),
      updated([id], { actor: key }),
      updated([id], { actor: agent }),
      eventBy(undefined, 'resources.resource.updated', { resourceIds: [id] }, { workspaceId }),
    );
    expect(runs.map(({ actsAs }) => actsAs.userName)).toEqual(['Bob', 'Ada', 'Ada', 'Ada']);
    expect(runs[0]?.actsAs).toMatchObject({ userId: bob.id, scopes: ['content:write'] });
  });

  test('forms, agents and guests taint the run from the beginning', async () => {
    const guest = stage.person('Guest');
    stage.join(guest, workspaceId, '', WorkspaceRole.VIEWER);
    const automation = await stage.automation(workspaceId, ada, {
      type: 'event',
      types: ['form.submitted', 'row.created', 'comment.created', 'resource.updated'],
    });
    const resourceId = stage.resource(workspaceId, { type: ResourceType.TABLE });
    const formId = newId();
    const agent = { type: 'agent', id: newId(), name: 'Agent', person: ada.id } as const;
    const row = { resourceId, tableId: resourceId, rowIds: ['r1'], changedFields: ['name'] };
    const runs = await stage.runsAfter(
      automation,
      eventBy(
        ada,
        'resources.form.submitted',
        { formId, formTitle: 'Contact', resourceId, values: {} },
        { workspaceId },
      ),
      eventBy(ada, 'resources.row.created', { ...row, formId }, { workspaceId }),
      eventBy(ada, 'resources.row.created', row, { workspaceId }),
      eventBy(guest, 'resources.comment.created', { resourceId, commentId: newId() }, { workspaceId }),
      updated([resourceId], { actor: agent }),
      updated([resourceId]),
    );
    expect(runs.map(({ taints }) => taints.map(({ type }) => type))).toEqual([
      ...[['form'], ['form'], [], ['guest'], ['agent'], []],
    ]);
  });
});

describe('loops', () => {
  test('an automation is not started by its own effects, and not by a long chain', async () => {
    const automation = await stage.automation(workspaceId, ada, { type: 'event', types: ['resource.updated'] });
    const id = stage.resource(workspaceId);
    const chains = [[newId()], [automation.id], [newId(), automation.id], Array.from({ length: 5 }, newId)];
    const runs = await stage.runsAfter(automation, ...chains.map((chain) => updated([id], { chain })));
    expect(runs.map(({ chain }) => chain)).toEqual(chains);
    expect(runs.map(({ skipReason }) => skipReason)).toEqual([undefined, 'loop', 'loop', 'loop']);
  });

  test('the end of a skipped run starts nothing', async () => {
    const automation = await stage.automation(workspaceId, ada, { type: 'event', types: ['automation_run.finished'] });
    const ended = (status: string) =>
      eventBy(ada, 'automations.automation_run.finished', { automationId: newId(), status }, { workspaceId });
    expect(await stage.runsAfter(automation, ended('skipped'), ended('completed'))).toHaveLength(1);
  });
});

describe('forms, rows and work items', () => {
  test('a form starts the automations that name it, its table or none', async () => {
    const resourceId = stage.resource(workspaceId, { type: ResourceType.TABLE });
    const formId = newId();
    const all = await Promise.all(
      [undefined, formId, resourceId, newId()].map((one) =>
        stage.automation(workspaceId, ada, { type: 'form_submission', formId: one }),
      ),
    );
    const values = { f1: 'Ada' };
    const data = { formId, resourceId, submissionId: newId(), rowId: 'r1', number: 1, values };
    await stage.publish(eventBy(undefined, 'resources.form.submitted', data, { workspaceId }));
    await stage.settled();
    const runs = await Promise.all(all.map((one) => stage.runsOf(one)));
    expect(runs.map(({ length }) => length)).toEqual([1, 1, 1, 0]);
    expect(runs[0]?.[0]?.input).toMatchObject({ event: { type: 'form.submitted', data: { row_id: 'r1', values } } });
  });

  test('rows start automations that name the table and one of the columns', async () => {
    const tableId = stage.resource(workspaceId, { type: ResourceType.TABLE });
    const created = await stage.automation(workspaceId, ada, { type: 'row_created', tableId });
    const changed = await stage.automation(workspaceId, ada, { type: 'row_updated', tableId });
    const column = await stage.automation(workspaceId, ada, { type: 'row_updated', tableId, columns: ['stage'] });
    const other = await stage.automation(workspaceId, ada, { type: 'row_updated', tableId: newId() });
    const row = (verb: string, ...changedFields: string[]) =>
      eventBy(
        ada,
        `resources.row.${verb}`,
        { resourceId: tableId, tableId, rowIds: ['r1', 'r2'], changedFields, version: 3 },
        { workspaceId },
      );
    await stage.publish(
      row('created', 'name'),
      row('updated', 'name'),
      row('updated', 'stage', 'name'),
      row('deleted'),
    );
    await stage.settled();
    const count = async (automation: typeof created) => (await stage.runsOf(automation)).length;
    expect(await Promise.all([created, changed, column, other].map(count))).toEqual([1, 2, 1, 0]);
    const [run] = await stage.runsOf(column);
    const data = { table_id: tableId, row_ids: ['r1', 'r2'], row_id: 'r1', changed_fields: ['stage', 'name'] };
    expect(run?.input).toMatchObject({ event: { type: 'row.updated', data } });
  });

  test('a work item starts automations for a changed field, and all of them when it is created', async () => {
    const any = await stage.automation(workspaceId, ada, { type: 'work_item_changed' });
    const status = await stage.automation(workspaceId, ada, { type: 'work_item_changed', fields: ['status'] });
    const item = (verb: string, ...changedFields: string[]) =>
      eventBy(ada, `automations.work_item.${verb}`, { number: 1, changedFields, version: 1 }, { workspaceId });
    await stage.publish(item('created'), item('updated', 'title'), item('updated', 'status'));
    await stage.settled();
    expect(await stage.runsOf(any)).toHaveLength(3);
    expect(await stage.runsOf(status)).toHaveLength(2);
  });
});

describe("changes of a document's content", () => {
  test('start one run, and one more with the latest version after ten seconds', async () => {
    const automation = await stage.automation(workspaceId, ada, { type: 'event', types: ['content.updated'] });
    const id = stage.resource(workspaceId);
    const edit = (version: number) =>
      eventBy(
        ada,
        'resources.content.updated',
        { resourceIds: [id], version, changedFields: ['content'] },
        { workspaceId, subject: id },
      );
    const versions = async () =>
      (await stage.runsOf(automation)).sort((a, b) => a.seq - b.seq).map((run) => dataOf(run).version);
    const edits = [1, 2, 3, 4].map(edit);
    await stage.publish(edits[0] as (typeof edits)[number]);
    await eventually(async () => expect(await versions()).toEqual([1]), 20_000);
    await stage.publish(...edits.slice(1));
    await stage.settled();
    expect(await versions()).toEqual([1]);
    stage.wait(10_001);
    // Any commit to the turns makes the queue poll again.
    const work = stage.store.begin();
    work.insert(stage.records.turns, {
      id: newId(),
      tenant: newId(),
      workspaceId: newId(),
      lastId: '',
      lastVersion: 0,
    });
    await work.commit();
    await eventually(async () => expect(await versions()).toEqual([1, 4]), 20_000);
  });
});
