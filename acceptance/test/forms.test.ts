import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type FormAnswer, newForm, type Submitted, tableOf } from '../src/forms.js';
import { newAddress, newKey, signIn, signUp, tokenOf } from '../src/people.js';
import type { Member, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

let system: System;
let by: Api;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Sales' })).data;
}, 180_000);

const ask = (fields: readonly object[], more: object = {}) => ({ title: 'Contact us', fields, ...more });
const NAME = { id: 'name', type: 'short_text', label: 'Your name', required: true };

interface NotificationList {
  readonly items: readonly { readonly type: string; readonly title: string }[];
}

/** Codes of faults by their fields. */
function faultsOf(error: { readonly details: unknown }): Record<string, string> {
  const details = error.details as { param: string; code: string }[];
  return Object.fromEntries(details.map(({ param, code }) => [param, code]));
}

describe('a form', () => {
  test('without a configuration has a field for each column that people can fill in', async () => {
    const { form, resource, access } = await newForm(by, workspace.id, undefined, [
      { id: 'name', name: 'Name', type: 'text', required: true },
      { id: 'age', name: 'Age', type: 'number' },
      { id: 'at', name: 'At', type: 'created_at' },
      { id: 'plan', name: 'Plan', type: 'select', options: { choices: [{ id: 'a', name: 'Free' }] } },
    ]);
    expect(form.config.title).toBe('Leads');
    expect(form.config.fields.map(({ id, column_id, type }) => [id, column_id, type])).toEqual([
      ['name', 'name', 'short_text'],
      ['age', 'age', 'number'],
      ['plan', 'plan', 'single_choice'],
    ]);
    expect(form.config.fields[2]?.options).toEqual([{ id: 'a', label: 'Free', value: 'Free' }]);
    const unset = { help_text: null, placeholder: null, default: null, options: null, min: null, max: null };
    const rules = {
      min_length: null,
      max_length: null,
      pattern: null,
      max_files: null,
      accept: null,
      visible_if: null,
    };
    expect(form.config.fields[1]).toEqual({
      ...{ id: 'age', column_id: 'age', type: 'number', label: 'Age', required: false, disabled: false },
      ...{ ...unset, ...rules },
    });
    expect(form).toMatchObject({ is_active: true, submission_count: 0, last_submitted_at: null, version: 1 });
    expect(form.token).toMatch(/^[0-9A-Za-z]{32}$/);
    expect(form.webhook_token).toMatch(/^[0-9A-Za-z]{32}$/);
    expect(form.submit_url).toBe(`${system.baseUrl}/api/v1/forms/${form.token}/submit`);
    expect(form.public_url).toBe(`${system.baseUrl}/f/${form.token}`);
    expect(form.webhook_url).toBe(`${system.baseUrl}/api/v1/hooks/forms/${form.webhook_token}`);
    expect(resource).toMatchObject({ type: 'table', name: 'Leads', form: { is_active: true } });
    expect(access).toMatchObject({ can_write: true, can_manage: true, blocked_by: null });
    const again = await by.post(`/resources/${form.resource_id}/form`, {});
    expect(again.error).toMatchObject({ code: 'form_already_exists' });
  });

  test('creates missing columns of its fields, and accepts each kind of answer', async () => {
    const options = [{ id: 'red', label: 'Red', value: 'r' }, { label: 'Blue' }];
    const fields = [
      NAME,
      { id: 'story', type: 'long_text', label: 'Story', min_length: 3 },
      { id: 'mail', type: 'email', label: 'Mail' },
      { id: 'site', type: 'url', label: 'Site' },
      { id: 'tel', type: 'phone', label: 'Phone' },
      { id: 'age', type: 'number', label: 'Age', min: 18, max: 99 },
      { id: 'fee', type: 'currency', label: 'Fee' },
      { id: 'day', type: 'date', label: 'Day' },
      { id: 'when', type: 'datetime', label: 'When' },
      { id: 'yes', type: 'checkbox', label: 'Yes?' },
      { id: 'one', type: 'single_choice', label: 'One', options },
      { id: 'many', type: 'multi_choice', label: 'Many', options },
      { id: 'drop', type: 'dropdown', label: 'Drop', options },
      { id: 'stars', type: 'rating', label: 'Stars', max: 5 },
      { id: 'scale', type: 'scale', label: 'Scale', min: 0, max: 10 },
      { id: 'papers', type: 'file', label: 'Papers', accept: ['.txt'], max_files: 2 },
      { id: 'sign', type: 'signature', label: 'Signature' },
      { id: 'ref', type: 'hidden', label: 'Ref' },
      { id: 'said', type: 'statement', label: 'Thank you' },
    ];
    const { form } = await newForm(
      by,
      workspace.id,
      ask(fields, { success_message: 'Thanks', redirect_url: 'https://example.com/done' }),
    );
    const file = { name: 'cv.txt', content_base64: Buffer.from('hello').toString('base64') };
    const values = {
      name: 'Ada',
      story: 'Once',
      mail: 'ada@example.com',
      site: 'https://example.com',
      tel: '+44 20 7946 0000',
      age: '36',
      fee: 12.5,
      day: '2026-01-31',
      when: '2026-01-31T09:00:00Z',
      yes: true,
      one: 'r',
      many: ['red', 'Blue'],
      drop: 'Blue',
      stars: 4,
      scale: 0,
      papers: [file],
      sign: file,
      ref: 'ad-7',
    };
    const { status, data } = await by.post<Submitted>(`/forms/${form.token}/submit`, { values });
    expect(status).toBe(201);
    expect(data).toMatchObject({ success_message: 'Thanks', redirect_url: 'https://example.com/done' });
    const { columns, rows } = await tableOf(by, form.resource_id);
    expect(columns.map(({ name }) => name)).toContain('Story');
    const [row] = rows;
    expect(row?.id).toBe(data.row_id);
    expect(row?.cells).toMatchObject({
      story: 'Once',
      age: 36,
      fee: 12.5,
      yes: true,
      one: 'red',
      many: ['red', expect.any(String)],
      stars: 4,
      scale: 0,
      ref: 'ad-7',
    });
    const papers = row?.cells.papers as string[];
    const stored = await by.get<Resource>(`/resources/${papers[0]}`);
    expect(stored.data).toMatchObject({ type: 'file', name: 'cv.txt' });
  });

  test('reports every error of a configuration at once', async () => {
    const table = await newForm(by, workspace.id, undefined, [
      { id: 'name', name: 'Name', type: 'text' },
      { id: 'sum', name: 'Sum', type: 'formula', options: { expression: '1+1' } },
    ]);
    const config = {
      fields: [
        { id: 'a', type: 'nope', label: 'A' },
        { id: 'a', type: 'number', label: 'B', column_id: 'name' },
        { id: 'c', type: 'number', label: 'C', column_id: 'sum' },
        { id: 'd', type: 'short_text', column_id: 'gone' },
        { id: 'e', type: 'short_text', label: 'E', colour: 'red', visible_if: { field_id: 'zz', op: 'eq', value: 1 } },
        { id: 'f', type: 'short_text', label: 'F', name: 'Other', pattern: '(' },
      ],
      redirect_url: 'http://example.com',
      close_at: 'tomorrow',
      max_submissions: 0,
      webhooks: [{ url: 'https://127.0.0.1/x' }, { url: 'http://example.com', secret: 'short' }],
      whatever: 1,
    };
    const { status, error } = await by.patch(`/resources/${table.form.resource_id}/form`, { config });
    expect(status).toBe(400);
    expect(error.code).toBe('validation_failed');
    expect(faultsOf(error)).toEqual({
      'config.title': 'missing_field',
      'config.fields[0].type': 'invalid_value',
      'config.fields[1].id': 'invalid_value',
      'config.fields[1].type': 'invalid_value',
      'config.fields[2].column_id': 'invalid_value',
      'config.fields[3].label': 'missing_field',
      'config.fields[3].column_id': 'unknown_column',
      'config.fields[4].colour': 'unknown_field',
      'config.fields[4].visible_if.field_id': 'invalid_value',
      'config.fields[5].name': 'conflicting_alias',
      'config.fields[5].pattern': 'invalid_value',
      'config.redirect_url': 'invalid_url',
      'config.close_at': 'invalid_value',
      'config.max_submissions': 'invalid_value',
      'config.webhooks[0].url': 'url_not_allowed',
      'config.webhooks[1].url': 'url_not_allowed',
      'config.webhooks[1].secret': 'invalid_value',
      'config.whatever': 'unknown_field',
    });
    const one = await by.patch(`/resources/${table.form.resource_id}/form`, {
      config: ask([NAME], { webhooks: [{ url: 'https://169.254.169.254/' }] }),
    });
    expect(one.error).toMatchObject({ code: 'url_not_allowed', param: 'config.webhooks[0].url' });
  });

  test('refuses defaults that its fields would refuse as answers', async () => {
    const columns = [
      { id: 'note', name: 'Note', type: 'text', default: 'two\nlines' },
      { id: 'plan', name: 'Plan', type: 'select', options: { choices: [{ id: 'a', name: 'Free' }] } },
    ];
    const { form } = await newForm(by, workspace.id, undefined, columns);
    expect(form.config.fields[0]?.default).toBeNull();
    const field = (id: string, type: string, wrong: unknown, more: object = {}) => [
      { id, type, label: id, default: wrong, ...more },
    ];
    const saved = async (fields: readonly object[]) =>
      (await by.patch(`/resources/${form.resource_id}/form`, { config: ask(fields) })).body;
    const wrong = [
      field('age', 'number', 'many'),
      field('young', 'number', 5, { min: 18 }),
      field('plan', 'single_choice', 'Dear', { column_id: 'plan' }),
      field('new', 'dropdown', 'c', { options: ['a', 'b'] }),
      field('some', 'multi_choice', ['a', 'c'], { options: ['a', 'b'] }),
      field('mail', 'email', 'nobody'),
      field('day', 'date', '2026-02-30'),
      field('short', 'short_text', 'abc', { max_length: 2 }),
      field('code', 'short_text', 'abc', { pattern: '[0-9]+' }),
      field('yes', 'checkbox', 'perhaps'),
    ].flat();
    const { error } = (await saved(wrong)) as unknown as { error: { details: unknown } };
    expect(Object.keys(faultsOf(error)).sort()).toEqual(wrong.map((_, i) => `config.fields[${i}].default`));
    const right = [
      field('age', 'number', '5'),
      field('plan', 'single_choice', 'Free', { column_id: 'plan' }),
      field('new', 'dropdown', 'b', { options: ['a', 'b'] }),
      field('some', 'multi_choice', ['a', 'b'], { options: ['a', 'b'] }),
      field('code', 'short_text', '17', { pattern: '[0-9]+', visible_if: { field_id: 'age', op: 'gt', value: 9 } }),
      field('yes', 'checkbox', false, { required: true }),
    ].flat();
    const defaults = right.map(({ default: value }) => ({ default: value }));
    expect(await saved(right)).toMatchObject({ data: { form: { config: { fields: defaults } } } });
    const { form: kept } = (await by.get<FormAnswer>(`/resources/${form.resource_id}/form`)).data;
    const again = await by.patch(`/resources/${form.resource_id}/form`, { config: kept.config });
    expect(again.status).toBe(200);
  });

  test('disables a field without a column, and reports it', async () => {
    const fields = [
      { ...NAME, column_id: 'who' },
      { id: 'age', type: 'number', label: 'Age', required: true },
    ];
    const { form } = await newForm(by, workspace.id, ask(fields), [{ id: 'who', name: 'Who', type: 'text' }]);
    await by.patch(`/resources/${form.resource_id}/content`, { columns: [{ id: 'who', name: 'Who' }], rows: [] });
    const got = await by.get<FormAnswer>(`/resources/${form.resource_id}/form`);
    expect(got.data.form.config.fields.map(({ id, disabled }) => [id, disabled])).toEqual([
      ['name', false],
      ['age', true],
    ]);
    expect(got.body.warnings).toEqual([expect.objectContaining({ code: 'field_disabled' })]);
    const path = `/forms/${form.token}/submit`;
    const sent = await by.post(path, { values: { name: 'Ada', age: 3 } });
    expect(sent.status).toBe(201);
    expect(sent.body.warnings).toMatchObject([
      { code: 'field_disabled', message: expect.stringMatching(/not stored: Age/) },
    ]);
    expect((await tableOf(by, form.resource_id)).rows.map(({ cells }) => cells)).toEqual([{ who: 'Ada' }]);
    const echoed = await by.patch<FormAnswer>(`/resources/${form.resource_id}/form`, { config: got.data.form.config });
    expect([echoed.status, echoed.data.form.config]).toEqual([200, got.data.form.config]);
  });

  test('warns, at the change of a column and at the form, that the table refuses its submissions', async () => {
    const { form } = await newForm(by, workspace.id, ask([{ ...NAME, column_id: 'who' }]), [
      { id: 'who', name: 'Who', type: 'text' },
      { id: 'age', name: 'Age', type: 'number' },
    ]);
    const content = `/resources/${form.resource_id}/content`;
    const change = (column: object) => by.patch(content, { mode: 'append', columns: [{ id: 'age', ...column }] });
    const refused = { code: 'submissions_refused', message: expect.stringContaining('Age (age)') };
    const submit = (name: string) => by.post(`/forms/${form.token}/submit`, { values: { name } });
    const read = async () => (await by.get(`/resources/${form.resource_id}/form`)).body.warnings;

    const required = await change({ required: true });
    expect([required.status, required.body.warnings]).toMatchObject([200, [refused]]);
    expect(await read()).toMatchObject([refused]);
    const sent = await submit('Ada');
    expect(sent.status).toBe(400);
    expect(sent.error).toMatchObject({ details: [{ param: 'values.age', message: expect.stringContaining('Age') }] });

    const unique = await change({ required: false, unique: true, default: 7 });
    expect([unique.status, unique.body.warnings]).toMatchObject([200, [refused]]);
    expect([(await submit('Ada')).status, (await submit('Bob')).status]).toEqual([201, 400]);
    expect(await read()).toMatchObject([refused]);

    expect((await change({ default: null })).body.warnings).toBeUndefined();
    expect((await change({ required: true, default: 3, unique: false })).body.warnings).toBeUndefined();
    expect(await read()).toBeUndefined();
    expect((await submit('Bob')).status).toBe(201);
    const added = await by.patch(content, { mode: 'append', columns: [{ id: 'city', name: 'City', required: true }] });
    expect(added.body.warnings).toMatchObject([{ code: 'submissions_refused' }]);
    const fields = [
      { ...NAME, column_id: 'who' },
      { id: 'city', label: 'City', type: 'short_text', column_id: 'city' },
    ];
    const asked = await by.patch(`/resources/${form.resource_id}/form`, { config: ask(fields) });
    expect([asked.status, asked.body.warnings]).toEqual([200, undefined]);
  });

  test('is closed once no column takes the values of any of its fields', async () => {
    const said = { id: 'said', type: 'statement', label: 'Thank you' };
    const { form } = await newForm(by, workspace.id, ask([{ ...NAME, column_id: 'who' }, said]), [
      { id: 'who', name: 'Who', type: 'text' },
    ]);
    const gone = await by.patch(`/resources/${form.resource_id}/content`, { columns: [{ name: 'Else' }], rows: [] });
    expect(gone.body.warnings).toMatchObject([{ code: 'field_disabled' }]);
    for (const values of [{}, { name: 'Ada' }]) {
      const { status, error } = await by.post(`/forms/${form.token}/submit`, { values });
      expect(status).toBe(409);
      expect(error).toMatchObject({ code: 'form_closed', message: expect.stringContaining('column') });
    }
    const hook = await fetch(form.webhook_url as string, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Ada' }),
    });
    expect(hook.ok).toBe(false);
    expect(await (await fetch(form.public_url as string)).text()).not.toContain('<form');
    expect((await tableOf(by, form.resource_id)).rows).toEqual([]);
  });
});

describe('PATCH', () => {
  test('accepts both spellings of its fields, and refuses two different values', async () => {
    const { form } = await newForm(by, workspace.id);
    const path = `/resources/${form.resource_id}/form`;
    const off = await by.patch<FormAnswer>(path, { isActive: false, rotateWebhookToken: true });
    expect(off.status).toBe(200);
    expect(off.headers.get('cache-control')).toBe('no-store');
    expect(off.data).toMatchObject({ resource: { id: form.resource_id, type: 'table' }, access: { can_manage: true } });
    expect(off.data.form).toMatchObject({ is_active: false, token: form.token, version: 2 });
    expect(off.data.form.webhook_token).not.toBe(form.webhook_token);
    expect(Object.keys(off.data.form)).not.toContain('isActive');
    const same = await by.patch<FormAnswer>(path, { isActive: true, is_active: true });
    expect(same.data.form.is_active).toBe(true);
    for (const body of [
      { isActive: true, is_active: false },
      { rotateWebhookToken: true, rotate_webhook_token: false },
    ]) {
      const refused = await by.patch(path, body);
      expect([refused.status, refused.error.code]).toEqual([400, 'conflicting_alias']);
    }
    const nothing = await by.patch<FormAnswer>(path, { rotate_webhook_token: false });
    expect([nothing.status, nothing.data.form.webhook_token]).toEqual([200, same.data.form.webhook_token]);
  });

  test('returns 400, 401, 403 and 404 according to the specification', async () => {
    const { form } = await newForm(by, workspace.id);
    const path = `/resources/${form.resource_id}/form`;
    const codeOf = async (client: Api, at: string, body: unknown) => {
      const { status, error } = await client.patch(at, body);
      return [status, error.code];
    };
    expect(await codeOf(by, path, {})).toEqual([400, 'no_update_field']);
    expect(await codeOf(by, path, { is_active: null, config: null })).toEqual([400, 'no_update_field']);
    expect(await codeOf(by, path, { is_active: 'yes' })).toEqual([400, 'invalid_type']);
    expect(await codeOf(by, path, { colour: 1 })).toEqual([400, 'unknown_field']);
    expect(await codeOf(by, path, { config: { title: '' } })).toEqual([400, 'invalid_value']);
    expect(await codeOf(api(system), path, { is_active: false })).toEqual([401, 'missing_credentials']);
    expect(await codeOf(api(system, 'wsk_nothing'), path, { is_active: false })).toEqual([401, 'invalid_credentials']);
    const reads = await newKey(by, ['form:read']);
    expect(await codeOf(api(system, reads.key), path, { is_active: false })).toEqual([403, 'insufficient_scope']);
    expect(await codeOf(by, `/resources/${randomUUID()}/form`, { is_active: false })).toEqual([404, 'not_found']);
    const document = await by.post<Resource>('/resources', { type: 'document', name: 'D', workspace_id: workspace.id });
    expect(await codeOf(by, `/resources/${document.data.id}/form`, { is_active: false })).toEqual([400, 'not_a_table']);

    await by.patch(`/resources/${form.resource_id}`, { is_locked: true });
    const locked = await by.patch(path, { is_active: false });
    expect([locked.status, locked.error]).toMatchObject([
      403,
      { code: 'insufficient_role', details: { blocked_by: 'locked' } },
    ]);
    await by.patch(`/resources/${form.resource_id}`, { is_locked: false });
    await by.del(`/resources/${form.resource_id}`);
    const trashed = await by.patch(path, { is_active: false });
    expect([trashed.status, trashed.error]).toMatchObject([
      403,
      { code: 'insufficient_role', details: { blocked_by: 'trashed' } },
    ]);
    const gone = await by.post(`/forms/${form.token}/submit`, { values: { name: 'x' } });
    expect([gone.status, gone.error.code]).toEqual([404, 'form_not_found']);
  });

  test('in an archived workspace is read-only', async () => {
    const other = (await by.post<Workspace>('/workspaces', { name: 'Frozen' })).data;
    const { form } = await newForm(by, other.id);
    await by.post(`/workspaces/${other.id}/archive`, {});
    // Other processes cache a workspace for at most two seconds.
    await eventually(async () => {
      const { status, error } = await by.patch(`/resources/${form.resource_id}/form`, { is_active: true });
      expect([status, error]).toMatchObject([403, { code: 'insufficient_role', details: { blocked_by: 'archived' } }]);
    });
    const submitted = await by.post(`/forms/${form.token}/submit`, { values: { name: 'x' } });
    expect([submitted.status, submitted.error.code]).toEqual([409, 'workspace_archived']);
  });

  test('with another version in If-Match is a conflict', async () => {
    const { form } = await newForm(by, workspace.id);
    const path = `/resources/${form.resource_id}/form`;
    const read = await by.get(path);
    expect(read.headers.get('etag')).toMatch(/^"v1\./);
    const first = await by.patch(
      path,
      { is_active: false },
      { headers: { 'If-Match': read.headers.get('etag') ?? '' } },
    );
    expect(first.status).toBe(200);
    const second = await by.patch(
      path,
      { is_active: true },
      { headers: { 'If-Match': read.headers.get('etag') ?? '' } },
    );
    expect([second.status, second.error.code]).toEqual([409, 'version_conflict']);
  });

  test('does not return the token in a replay', async () => {
    const { form } = await newForm(by, workspace.id);
    const headers = { 'Idempotency-Key': randomUUID() };
    const path = `/resources/${form.resource_id}/form`;
    const first = await by.patch<FormAnswer>(path, { rotate_webhook_token: true }, { headers });
    const second = await by.patch<FormAnswer>(path, { rotate_webhook_token: true }, { headers });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.data.form).toMatchObject({
      id: form.id,
      token: null,
      webhook_token: null,
      submit_url: null,
      webhook_url: null,
    });
    const message = expect.stringContaining('form.webhook_token');
    expect(second.body.warnings).toEqual([expect.objectContaining({ code: 'secret_not_replayed', message })]);
    const now = await by.get<FormAnswer>(path);
    expect(now.data.form.webhook_token).toBe(first.data.form.webhook_token);
  });
});

describe('tokens', () => {
  test('are for people who may manage the table', async () => {
    const { form } = await newForm(by, workspace.id);
    const viewer = await signUp(system, 'Guest');
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: viewer.user.id, role: 'viewer' });
    const read = await viewer.get<FormAnswer>(`/resources/${form.resource_id}/form`);
    expect(read.data.form).toMatchObject({ id: form.id, token: null, webhook_token: null, public_url: null });
    const none = await by.get(
      `/resources/${(await by.post<Resource>('/resources', { type: 'table', name: 'T', workspace_id: workspace.id })).data.id}/form`,
    );
    expect([none.status, none.error.code]).toEqual([404, 'form_not_found']);
  });

  test('are deleted with the form, whose rows are kept', async () => {
    const { form } = await newForm(by, workspace.id);
    await by.post(`/forms/${form.token}/submit`, { values: { name: 'Ada' } });
    const { data } = await by.del(`/resources/${form.resource_id}/form`);
    expect(data).toEqual({ id: form.id, deleted: true });
    const submit = await by.post(`/forms/${form.token}/submit`, { values: { name: 'Bob' } });
    const hook = await api(system).post(`/hooks/forms/${form.webhook_token}`, { name: 'Bob' });
    expect([submit.status, submit.error.code, hook.status, hook.error.code]).toEqual([
      404,
      'form_not_found',
      404,
      'form_not_found',
    ]);
    expect((await tableOf(by, form.resource_id)).row_count).toBe(1);
  });

  test('of webhooks are shown only by their last characters', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const webhooks = [{ url: 'https://example.com/in', secret }, { url: 'https://example.org/in' }];
    const { form } = await newForm(by, workspace.id, ask([NAME], { webhooks }));
    expect(form.config.webhooks).toMatchObject([
      {
        url: 'https://example.com/in',
        events: ['form.submitted'],
        is_active: true,
        secret_hint: `…${secret.slice(-4)}`,
      },
      { url: 'https://example.org/in' },
    ]);
    expect(form.webhook_secrets).toEqual([{ url: 'https://example.org/in', secret: expect.stringMatching(/^whsec_/) }]);
    const read = await by.get<FormAnswer>(`/resources/${form.resource_id}/form`);
    expect(read.text).not.toContain('whsec_');
    const echoed = await by.patch<FormAnswer>(`/resources/${form.resource_id}/form`, { config: read.data.form.config });
    expect(echoed.data.form.config).toEqual(read.data.form.config);
  });
});

describe('a submission', () => {
  test('is refused with every error at once, and stores nothing', async () => {
    const { form } = await newForm(
      by,
      workspace.id,
      ask([
        NAME,
        { id: 'mail', type: 'email', label: 'Mail', required: true },
        { id: 'age', type: 'number', label: 'Age', min: 18 },
        { id: 'code', type: 'short_text', label: 'Code', pattern: '[A-Z]{3}' },
        { id: 'pick', type: 'single_choice', label: 'Pick', options: ['A', 'B'] },
        { id: 'slow', type: 'short_text', label: 'Slow', pattern: '(a+)+b' },
      ]),
    );
    const values = { mail: 'nobody', age: 3, code: 'abc', pick: 'C', extra: 1, slow: 'a'.repeat(40) };
    const { status, error } = await by.post(`/forms/${form.token}/submit`, { values });
    expect([status, error.code]).toEqual([400, 'validation_failed']);
    expect(faultsOf(error)).toEqual({
      'values.name': 'missing_field',
      'values.mail': 'invalid_value',
      'values.age': 'invalid_value',
      'values.code': 'invalid_value',
      'values.pick': 'invalid_value',
      'values.extra': 'unknown_field',
      'values.slow': 'invalid_value',
    });
    const one = await by.post(`/forms/${form.token}/submit`, { values: { mail: 'a@b.co' } });
    expect([one.error.code, faultsOf(one.error)]).toEqual(['missing_field', { 'values.name': 'missing_field' }]);
    const large = await by.post(`/forms/${form.token}/submit`, { values: { name: 'x'.repeat(1024 * 1024) } });
    expect([large.status, large.error.code]).toEqual([400, 'payload_too_large']);
    expect((await tableOf(by, form.resource_id)).row_count).toBe(0);
  });

  test('drops hidden fields, and does not require them', async () => {
    const { form } = await newForm(
      by,
      workspace.id,
      ask([
        {
          id: 'company',
          type: 'short_text',
          label: 'Company',
          required: true,
          visible_if: { field_id: 'kind', op: 'eq', value: 'Business' },
        },
        { id: 'kind', type: 'single_choice', label: 'Kind', options: ['Private', 'Business'] },
        { id: 'vat', type: 'short_text', label: 'VAT', visible_if: { field_id: 'company', op: 'not_empty' } },
      ]),
    );
    const hidden = await by.post<Submitted>(`/forms/${form.token}/submit`, {
      values: { kind: 'Private', company: 'X', vat: '1' },
    });
    expect(hidden.status).toBe(201);
    const shown = await by.post(`/forms/${form.token}/submit`, { values: { kind: 'Business' } });
    expect(faultsOf(shown.error)).toEqual({ 'values.company': 'missing_field' });
    const { rows } = await tableOf(by, form.resource_id);
    expect(rows[0]?.cells.company ?? null).toBeNull();
    expect(rows[0]?.cells.vat ?? null).toBeNull();
  });

  test('respects unique and required columns of its table', async () => {
    const columns = [
      { id: 'mail', name: 'Mail', type: 'email', unique: true },
      { id: 'team', name: 'Team', type: 'text', required: true },
    ];
    const fields = [
      { id: 'address', type: 'email', label: 'Address', column_id: 'mail' },
      { id: 'group', type: 'short_text', label: 'Group', column_id: 'team' },
    ];
    const { form } = await newForm(by, workspace.id, ask(fields), columns);
    const submit = (values: object) => by.post(`/forms/${form.token}/submit`, { values });
    const same = { address: 'ada@example.com', group: 'A' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => submit(same)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 400)]);
    const refused = answers.find(({ status }) => status === 400);
    expect([refused?.error.code, refused && faultsOf(refused.error)]).toEqual([
      'invalid_value',
      { 'values.address': 'invalid_value' },
    ]);
    const empty = await submit({ address: 'bob@example.com' });
    expect([empty.status, faultsOf(empty.error)]).toEqual([400, { 'values.group': 'invalid_value' }]);
    expect(empty.error.message).toBe('values.group: Team is required.');
    expect((await tableOf(by, form.resource_id)).row_count).toBe(1);
    const { data } = await by.get<FormAnswer>(`/resources/${form.resource_id}/form`);
    expect(data.form.submission_count).toBe(1);
  });

  test('needs a field for each column of its table that requires a value', async () => {
    const columns = [
      { id: 'name', name: 'Name', type: 'text' },
      { id: 'team', name: 'Team', type: 'text', required: true },
      { id: 'plan', name: 'Plan', type: 'text', required: true, default: 'Free' },
    ];
    const table = { workspace_id: workspace.id, type: 'table', name: 'Sign-ups', columns, rows: [] };
    const path = `/resources/${(await by.post<Resource>('/resources', table)).data.id}/form`;
    const team = { id: 'group', type: 'short_text', label: 'Group', column_id: 'team' };
    const without = await by.post(path, { config: ask([NAME]) });
    expect([without.status, without.error?.code, faultsOf(without.error)]).toEqual([
      400,
      'missing_field',
      { 'config.fields': 'missing_field' },
    ]);
    expect((await by.post(path, { config: ask([NAME, team]) })).status).toBe(201);
    const changed = await by.patch(path, { config: ask([NAME]) });
    expect([changed.status, faultsOf(changed.error)]).toEqual([400, { 'config.fields': 'missing_field' }]);
    // Without a configuration of its own, a form has a field for each column.
    expect((await by.patch(path, { config: { title: 'Sign up' } })).status).toBe(200);
  });

  test('may refer only to files that its sender can read', async () => {
    const fields = [{ id: 'papers', type: 'file', label: 'Papers' }];
    const { form } = await newForm(by, workspace.id, ask(fields));
    const content = Buffer.from('hello').toString('base64');
    const file = { name: 'a.txt', workspace_id: workspace.id, content_base64: content };
    const { data } = await by.post<{ resource: Resource }>('/files', file);
    const submit = (client: Api, id: string) =>
      client.post<Submitted>(`/forms/${form.token}/submit`, { values: { papers: [id] } });
    const sent = await submit(by, data.resource.id);
    expect(sent.status).toBe(201);
    const { rows } = await tableOf(by, form.resource_id);
    expect(rows.map(({ cells }) => cells.papers)).toEqual([[data.resource.id]]);
    const guest = await signUp(system, 'Guest');
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: guest.user.id, role: 'guest' });
    for (const [client, id] of [
      [guest, data.resource.id],
      [by, randomUUID()],
      [by, form.resource_id],
    ] as const) {
      const { status, error } = await submit(client, id);
      expect([status, faultsOf(error)]).toEqual([400, { 'values.papers': 'invalid_value' }]);
    }
  });

  test('stores no files of a submission that it refuses', async () => {
    const place = (await by.post<Workspace>('/workspaces', { name: 'Applications' })).data;
    const columns = [
      { id: 'mail', name: 'Mail', type: 'email', unique: true },
      { id: 'cv', name: 'CV', type: 'attachment', required: true },
    ];
    const fields = [
      { id: 'mail', type: 'email', label: 'Address', column_id: 'mail' },
      { id: 'cv', type: 'file', label: 'CV', column_id: 'cv', max_files: 2 },
    ];
    const { form } = await newForm(by, place.id, ask(fields, { one_response_per: 'account' }), columns);
    const file = { name: 'cv.txt', content_base64: Buffer.from('hello').toString('base64') };
    const submit = (client: Api, values: object) => client.post<Submitted>(`/forms/${form.token}/submit`, { values });
    const guest = await signUp(system, 'Applicant');
    await by.post(`/workspaces/${place.id}/members`, { user_id: guest.user.id, role: 'guest' });
    const unknown = await submit(guest, { mail: 'ada@example.com', cv: [file, randomUUID()] });
    expect(faultsOf(unknown.error)).toEqual({ 'values.cv': 'invalid_value' });
    expect((await submit(by, { mail: 'ada@example.com', cv: [file] })).status).toBe(201);
    const taken = await submit(guest, { mail: 'ada@example.com', cv: [file] });
    expect(faultsOf(taken.error)).toEqual({ 'values.mail': 'invalid_value' });
    expect((await submit(by, { mail: 'bob@example.com', cv: [file] })).error.code).toBe('submission_limit_reached');
    const { data } = await by.get<{ items: Resource[] }>(`/workspaces/${place.id}/resources?type=file`);
    expect(data.items.map(({ name }) => name)).toEqual(['cv.txt']);
  });

  test('leaves no files behind if another one of the same moment is stored instead', async () => {
    const place = (await by.post<Workspace>('/workspaces', { name: 'Races' })).data;
    const columns = [
      { id: 'mail', name: 'Mail', type: 'email', unique: true },
      { id: 'cv', name: 'CV', type: 'attachment' },
    ];
    const fields = [
      { id: 'mail', type: 'email', label: 'Address', column_id: 'mail' },
      { id: 'cv', type: 'file', label: 'CV', column_id: 'cv' },
    ];
    const { form } = await newForm(by, place.id, ask(fields), columns);
    const file = { name: 'cv.txt', content_base64: Buffer.from('hello').toString('base64') };
    const body = { values: { mail: 'ada@example.com', cv: [file] } };
    const submit = (more: object) => by.post<Submitted>(`/forms/${form.token}/submit`, { ...body, ...more });
    const submission_id = randomUUID();
    const sent = await Promise.all([{ submission_id }, { submission_id }, {}, {}, {}, {}].map(submit));
    expect(sent.filter(({ status }) => status === 201).length).toBeGreaterThan(0);
    const { rows } = await tableOf(by, form.resource_id);
    expect(rows).toHaveLength(1);
    const files = async () =>
      (await by.get<{ items: Resource[] }>(`/workspaces/${place.id}/resources?type=file`)).data.items;
    await eventually(async () => expect((await files()).map(({ id }) => id)).toEqual(rows[0]?.cells.cv));
    const trash = await by.get<{ items: Resource[] }>(`/workspaces/${place.id}/trash`);
    expect(trash.data.items).toEqual([]);
  });

  test('under the same submission_id or key is not stored again', async () => {
    const { form } = await newForm(by, workspace.id, ask([NAME], { max_submissions: 2 }));
    const path = `/forms/${form.token}/submit`;
    const submission_id = randomUUID();
    const first = await by.post<Submitted>(path, { values: { name: 'Ada' }, submission_id });
    const again = await by.post<Submitted>(path, { values: { name: 'Ada' }, submission_id });
    expect([again.status, again.data]).toEqual([201, first.data]);
    const headers = { 'Idempotency-Key': randomUUID() };
    const keyed = await by.post<Submitted>(path, { values: { name: 'Bob' } }, { headers });
    const replayed = await by.post<Submitted>(path, { values: { name: 'Bob' } }, { headers });
    expect([replayed.status, replayed.data]).toEqual([201, keyed.data]);
    const full = await by.post(path, { values: { name: 'Cleo' } });
    expect([full.status, full.error.code]).toEqual([409, 'submission_limit_reached']);
    expect((await by.post<Submitted>(path, { values: { name: 'Ada' }, submission_id })).data).toEqual(first.data);
    await by.patch(`/resources/${form.resource_id}/form`, { config: ask([NAME], { max_submissions: 3 }) });
    expect((await by.post(path, { values: { name: 'Cleo' } })).status).toBe(201);
    const { data } = await by.get<FormAnswer>(`/resources/${form.resource_id}/form`);
    expect(data.form).toMatchObject({ submission_count: 3, last_submitted_at: expect.any(String) });
    expect((await tableOf(by, form.resource_id)).row_count).toBe(3);
  });

  test('is accepted while the form is open', async () => {
    const { form } = await newForm(by, workspace.id, ask([NAME]));
    const path = `/resources/${form.resource_id}/form`;
    const submit = async () => {
      const { status, body } = await by.post(`/forms/${form.token}/submit`, { values: { name: 'Ada' } });
      return [status, body.error?.code];
    };
    await by.patch(path, { is_active: false });
    expect(await submit()).toEqual([409, 'form_inactive']);
    await by.patch(path, { is_active: true, config: ask([NAME], { close_at: '2020-01-01T00:00:00Z' }) });
    expect(await submit()).toEqual([409, 'form_closed']);
    await by.patch(path, { config: ask([NAME], { one_response_per: 'account' }) });
    expect(await submit()).toEqual([201, undefined]);
    expect(await submit()).toEqual([409, 'submission_limit_reached']);
    await by.patch(path, { config: ask([NAME]) });
    await by.patch(`/resources/${form.resource_id}`, { is_locked: true });
    expect(await submit()).toEqual([409, 'resource_locked']);
    expect((await by.post(`/forms/${'x'.repeat(32)}/submit`, { values: {} })).error.code).toBe('form_not_found');
  });

  test('uses the form and table as last changed, however often they were read before', async () => {
    const { form } = await newForm(by, workspace.id, ask([NAME]));
    const path = `/resources/${form.resource_id}`;
    const submit = async () => {
      const answer = await by.post<Submitted>(`/forms/${form.token}/submit`, { values: { name: 'Ada' } });
      const { status, body } = answer;
      return [status, body.error?.code ?? body.data?.success_message];
    };
    const configure = (config: object) => by.patch(`${path}/form`, { config });
    const MAIL = { id: 'mail', type: 'email', label: 'Mail', required: true };
    const taken = [201, null];
    const changes: [change: () => Promise<unknown>, outcome: unknown][] = [
      [() => configure(ask([NAME], { success_message: 'Bye' })), [201, 'Bye']],
      [() => configure(ask([NAME, MAIL])), [400, 'missing_field']],
      [() => configure(ask([NAME], { require_captcha: true })), [400, 'missing_field']],
      [() => configure(ask([NAME], { max_submissions: 1 })), [409, 'submission_limit_reached']],
      [() => by.patch(`${path}/form`, { is_active: false, config: ask([NAME]) }), [409, 'form_inactive']],
      [() => by.patch(`${path}/form`, { is_active: true }), taken],
      [() => by.patch(path, { is_locked: true }), [409, 'resource_locked']],
      [() => by.patch(path, { is_locked: false }), taken],
      [() => by.del(path), [404, 'form_not_found']],
      [() => by.post(`${path}/restore`, {}), taken],
      [() => by.del(`${path}/form`), [404, 'form_not_found']],
    ];
    const outcomes = [await submit()];
    for (const [change] of changes) {
      await change();
      outcomes.push(await submit());
    }
    expect(outcomes).toEqual([taken, ...changes.map(([, outcome]) => outcome)]);
  });

  test('needs the scope and a key of the tenant, and no access to the table', async () => {
    const owner = await signIn(system, system.owner);
    const org = (await owner.post<Org>('/orgs', { name: 'Org' })).data;
    const place = (await owner.post<Workspace>('/workspaces', { name: 'W', org_id: org.id })).data;
    const { form } = await newForm(owner, place.id, ask([NAME]));
    const path = `/forms/${form.token}/submit`;
    const values = { name: 'Ada' };
    const codeOf = async (client: Api) => {
      const { status, body } = await client.post(path, { values });
      return [status, body.error?.code];
    };
    const stranger = await signUp(system, 'Stranger');
    expect(await codeOf(stranger)).toEqual([403, 'tenant_boundary']);
    const email = newAddress('member');
    const invited = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
    const member = await signUp(system, 'Member', { email, invitation: tokenOf(invited.data.invite_url) });
    expect((await member.get(`/resources/${form.resource_id}`)).status).toBe(404);
    expect(await codeOf(member)).toEqual([201, undefined]);
    const orgKey = await newKey(owner, ['form:submit'], { org_id: org.id });
    expect(await codeOf(api(system, orgKey.key))).toEqual([201, undefined]);
    const personal = await newKey(by, ['form:submit']);
    expect(await codeOf(api(system, personal.key))).toEqual([403, 'tenant_boundary']);
    const reads = await newKey(owner, ['form:read'], { org_id: org.id });
    expect(await codeOf(api(system, reads.key))).toEqual([403, 'insufficient_scope']);
    expect(await codeOf(api(system))).toEqual([401, 'missing_credentials']);
  });

  test('notifies the people whom the form names', async () => {
    const member = await signUp(system, 'Guest');
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: member.user.id, role: 'viewer' });
    const { form } = await newForm(by, workspace.id, ask([NAME], { notify_user_ids: [member.user.id] }));
    await by.post(`/forms/${form.token}/submit`, { values: { name: 'Ada' } });
    await eventually(async () => {
      const { data } = await member.get<NotificationList>('/notifications');
      expect(data.items.filter(({ type }) => type === 'form_submitted')).toMatchObject([
        { title: 'New response in “Leads”' },
      ]);
    });
  });
});

describe('the webhook', () => {
  const hook = (token: string | null) => `/hooks/forms/${token}`;

  test('accepts JSON and forms, by id, column, label and mapping, without a credential', async () => {
    const fields = [
      { id: 'name', type: 'short_text', label: 'Your name' },
      { id: 'age', type: 'number', label: 'Age', column_id: 'years' },
      { id: 'ok', type: 'checkbox', label: 'Agreed' },
    ];
    const columns = [{ id: 'years', name: 'Years', type: 'number' }];
    const { form } = await newForm(by, workspace.id, ask(fields, { mapping: { full_name: 'name' } }), columns);
    const open = api(system);
    const first = await open.post<Submitted>(hook(form.webhook_token), {
      values: { name: 'Ada', years: 36, other: 1 },
    });
    expect([first.status, first.data.submission_id]).toEqual([201, expect.any(String)]);
    expect((await open.post(hook(form.webhook_token), { full_name: 'Bob', Age: 7, unknown: true })).status).toBe(201);
    const encoded = await open.send('POST', hook(form.webhook_token), 'Your+name=Cleo&Age=12&Agreed=on', {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(encoded.status).toBe(201);
    const { rows } = await tableOf(by, form.resource_id);
    expect(rows.map(({ cells }) => [cells.name, cells.years, cells.ok ?? null])).toEqual([
      ['Ada', 36, null],
      ['Bob', 7, null],
      ['Cleo', 12, true],
    ]);
    const nothing = await open.post(hook(form.webhook_token), { zzz: 1 });
    expect([nothing.status, nothing.error.code]).toEqual([400, 'invalid_webhook_payload']);
    const wrong = await open.post(hook(form.webhook_token), { Age: 'old' });
    expect([wrong.status, wrong.error.code]).toEqual([400, 'invalid_value']);
  });

  test('repeats its response to a repeated delivery, refuses a rotated token, and returns 409 for an inactive form', async () => {
    const { form } = await newForm(by, workspace.id, ask([NAME]));
    const open = api(system);
    for (const name of ['webhook-id', 'Idempotency-Key']) {
      const headers = { [name]: `msg_${name}` };
      const first = await open.post<Submitted>(hook(form.webhook_token), { name: 'Ada' }, { headers });
      const again = await open.post<Submitted>(hook(form.webhook_token), { name: 'Ada' }, { headers });
      expect([again.status, again.data]).toEqual([201, first.data]);
    }
    expect((await tableOf(by, form.resource_id)).row_count).toBe(2);
    const rotated = await by.patch<FormAnswer>(`/resources/${form.resource_id}/form`, {
      rotate_webhook_token: true,
      is_active: false,
    });
    const old = await open.post(hook(form.webhook_token), { name: 'Ada' });
    expect([old.status, old.error.code]).toEqual([404, 'form_not_found']);
    const off = await open.post(hook(rotated.data.form.webhook_token), { name: 'Ada' });
    expect([off.status, off.error.code]).toEqual([409, 'form_inactive']);
  });
});

describe('the hosted page', () => {
  test('issues a credential for this form and nothing else', async () => {
    const { form } = await newForm(by, workspace.id, ask([NAME]));
    const other = await newForm(by, workspace.id, ask([NAME]));
    const page = await fetch(form.public_url ?? '');
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const [credential = ''] = /wsf_[\w.-]+/.exec(await page.text()) ?? [];
    const visitor = api(system, credential);
    const values = { name: 'Ada' };
    const sent = await visitor.post<Submitted>(`/forms/${form.token}/submit`, { values });
    expect([sent.status, sent.data.row_id]).toEqual([201, expect.any(String)]);
    const codeOf = async (path: string, body?: unknown) => {
      const { status, error } = body === undefined ? await visitor.get(path) : await visitor.post(path, body);
      return [status, error.code];
    };
    expect(await codeOf(`/forms/${other.form.token}/submit`, { values })).toEqual([403, 'tenant_boundary']);
    expect(await codeOf('/me')).toEqual([403, 'insufficient_scope']);
    expect(await codeOf('/capabilities')).toEqual([403, 'insufficient_scope']);
    expect(await codeOf(`/resources/${form.resource_id}`)).toEqual([403, 'insufficient_scope']);
    expect(await codeOf(`/resources/${form.resource_id}/form`)).toEqual([403, 'insufficient_scope']);
    expect((await tableOf(by, form.resource_id)).rows.map(({ id }) => id)).toEqual([sent.data.row_id]);
    expect((await fetch(`${system.baseUrl}/f/${'x'.repeat(32)}`)).status).toBe(404);
  });
});

test('200 concurrent submissions, half of them repeated, are stored once each and numbered without a gap', async () => {
  const columns = [
    { id: 'name', name: 'Name', type: 'text' },
    { id: 'no', name: 'No', type: 'auto_number' },
  ];
  const { form } = await newForm(by, workspace.id, ask([{ ...NAME, column_id: 'name' }]), columns);
  const ids = Array.from({ length: 100 }, () => randomUUID());
  const asked = [...ids, ...ids].sort(() => Math.random() - 0.5);
  const answers = await Promise.all(
    asked.map((submission_id) =>
      by.post<Submitted>(`/forms/${form.token}/submit`, { values: { name: submission_id }, submission_id }),
    ),
  );
  expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
  const rowOf = new Map(answers.map(({ data }) => [data.submission_id, data.row_id]));
  expect(answers.every(({ data }) => rowOf.get(data.submission_id) === data.row_id)).toBe(true);
  const { rows } = await tableOf(by, form.resource_id);
  expect(rows.map(({ cells }) => cells.name).sort()).toEqual([...ids].sort());
  expect(rows.map(({ cells }) => cells.no).sort((a, b) => Number(a) - Number(b))).toEqual(ids.map((_, i) => i + 1));
  const { data } = await by.get<FormAnswer>(`/resources/${form.resource_id}/form`);
  expect(data.form.submission_count).toBe(100);
});
