import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import type { NewFile } from '../src/files.js';
import { type Form, newForm, type Submitted, tableOf } from '../src/forms.js';
import { newAddress, type Person, signIn } from '../src/people.js';
import type { List, Org, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

// Tests that the same thing has the same name everywhere, and that former names are accepted for one more version.

let system: System;
let by: Api;
let owner: Person;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
  owner = await signIn(system, system.owner);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'One spelling' })).data;
});

describe('the address that the server fetches from', () => {
  const create = (fields: object) =>
    by.post(`/workspaces/${workspace.id}/imports`, { source_type: 'url', dry_run: true, ...fields });

  test('is source_url for files and imports', async () => {
    const refused = await create({ source_url: 'http://10.0.0.1/words.md' });
    expect([refused.status, refused.error.code, refused.error.param]).toEqual([400, 'url_not_allowed', 'source_url']);
    expect(refused.headers.get('deprecation')).toBeNull();
    const missing = await create({});
    expect([missing.error.code, missing.error.param]).toEqual(['missing_field', 'source_url']);
  });

  test('is also url, as in the previous version, with a deprecation warning', async () => {
    const refused = await create({ url: 'http://10.0.0.1/words.md' });
    expect([refused.status, refused.error.code, refused.error.param]).toEqual([400, 'url_not_allowed', 'url']);
    expect(refused.headers.get('deprecation')).toMatch(/^@\d{10}$/);
    expect(Date.parse(refused.headers.get('sunset') ?? '')).toBeGreaterThan(Date.now());
    expect(refused.headers.get('link')).toContain('rel="deprecation"');
    const both = await create({ url: 'https://example.com/a', source_url: 'https://example.com/b' });
    expect(both.error.code).toBe('conflicting_alias');
  });

  test('a refusal names the setting by which the operator can allow the host', async () => {
    const file = { name: 'a.txt', workspace_id: workspace.id, source_url: 'https://127.0.0.1/a.txt' };
    for (const { error } of [await create({ source_url: 'https://127.0.0.1/a.md' }), await by.post('/files', file)]) {
      expect([error.code, error.message]).toEqual([
        'url_not_allowed',
        expect.stringContaining('COMMONPLACE_URL_ALLOWLIST'),
      ]);
    }
  });
});

describe('the author of a change', () => {
  const OWNER = { type: 'user', id: expect.any(String), name: 'Owner' };

  test('is an actor, also of an invitation and of a membership', async () => {
    const { data: org } = await owner.post<Org>('/orgs', { name: 'Actors' });
    const invited = { email: newAddress('actor'), role: 'member' };
    const { data } = await owner.post<{ invited_by: { id: string } }>(`/orgs/${org.id}/members`, invited);
    expect(data).toMatchObject({ invited_by: OWNER, invited_by_id: data.invited_by.id });
    const { data: own } = await owner.post<Workspace>('/workspaces', { name: 'Actors', org_id: org.id });
    const members = await owner.get<List<{ added_by: { id: string } }>>(`/workspaces/${own.id}/members`);
    const [member] = members.data.items;
    expect(member).toMatchObject({ added_by: OWNER, added_by_id: member?.added_by.id });
  });
});

describe('the values of a form', () => {
  const FIELDS = [
    { id: 'name', type: 'short_text', label: 'Your name', required: true },
    { id: 'age', type: 'number', label: 'Age', column_id: 'years' },
  ];
  let form: Form;

  beforeAll(async () => {
    const columns = [{ id: 'years', name: 'Years', type: 'number' }];
    form = (await newForm(by, workspace.id, { title: 'Ask', fields: FIELDS }, columns)).form;
  });

  test('are given by id, column and label, for programs as for webhooks', async () => {
    const submit = (values: object) => by.post<Submitted>(`/forms/${form.token}/submit`, { values });
    const bodies = [
      { name: 'Ada', age: 36 },
      { 'Your name': 'Bob', years: 7 },
      { 'your NAME': 'Cleo', Age: '12' },
    ];
    for (const values of bodies) {
      expect((await submit(values)).status).toBe(201);
      expect((await api(system).post(`/hooks/forms/${form.webhook_token}`, { values })).status).toBe(201);
    }
    const { rows } = await tableOf(by, form.resource_id);
    expect(rows.map(({ cells }) => `${cells.name} ${cells.years}`)).toEqual(
      ['Ada 36', 'Bob 7', 'Cleo 12'].flatMap((row) => [row, row]),
    );
    const twice = await submit({ name: 'Ada', 'Your name': 'Bob' });
    expect([twice.status, twice.error.code]).toEqual([400, 'conflicting_alias']);
    const unknown = await submit({ name: 'Ada', colour: 'red' });
    expect([unknown.error.code, unknown.error.param]).toEqual(['unknown_field', 'values.colour']);
  });

  test('have one error under its own code, and several as validation_failed, as every body', async () => {
    const refusals = [
      await by.post(`/forms/${form.token}/submit`, { values: {} }),
      await by.post(`/forms/${form.token}/submit`, { values: { age: 'old' } }),
      await by.post('/resources', { type: 'folder', workspace_id: workspace.id }),
      await by.post('/resources', { workspace_id: workspace.id }),
    ];
    expect(refusals.map(({ status, error }) => [status, error.code, error.param])).toEqual([
      [400, 'missing_field', 'values.name'],
      [400, 'validation_failed', null],
      [400, 'missing_field', 'name'],
      [400, 'validation_failed', null],
    ]);
  });
});

describe('a multipart/form-data body', () => {
  const send = async (path: string, parts: Readonly<Record<string, string | File>>, key?: string) => {
    const form = new FormData();
    for (const [name, part] of Object.entries(parts)) form.set(name, part);
    // Each request has a different boundary.
    const request = new Request('http://localhost/', { method: 'POST', body: form });
    const headers = {
      'Content-Type': request.headers.get('content-type') ?? '',
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    };
    return by.send<NewFile>('POST', path, new Uint8Array(await request.arrayBuffer()), { headers });
  };
  const words = () => new File(['Words of the quoll.'], 'quoll.txt', { type: 'text/plain' });

  test('creates a file with the name of its part, once for each key', async () => {
    const fields = { workspace_id: workspace.id, file: words() };
    const made = await send('/files', fields, 'quoll-1');
    expect(made.status).toBe(201);
    expect(made.data.resource).toMatchObject({ name: 'quoll.txt', file: { size_bytes: 19, status: 'ready' } });
    const again = await send('/files', fields, 'quoll-1');
    expect([again.data.resource.id, again.headers.get('idempotency-replayed')]).toEqual([
      made.data.resource.id,
      'true',
    ]);
    const named = await send('/files', { ...fields, name: 'other.txt', size_bytes: '19' });
    expect(named.data.resource.name).toBe('other.txt');
    const wrong = await send('/files', { ...fields, size_bytes: 'many' });
    expect([wrong.error.code, wrong.error.param]).toEqual(['invalid_type', 'size_bytes']);
  });

  test('starts an import', async () => {
    const fields = { source_type: 'markdown', file: new File(['# Quolls'], 'quolls.md') };
    const { status } = await send(`/workspaces/${workspace.id}/imports`, fields);
    expect(status).toBe(201);
  });

  test('without the file is refused', async () => {
    const { error } = await send('/files', { workspace_id: workspace.id, name: 'quoll.txt' });
    expect([error.code, error.param]).toEqual(['missing_field', 'file']);
  });

  test('that is malformed, or sent to another endpoint, is refused', async () => {
    const headers = { 'Content-Type': 'multipart/form-data' };
    const noBoundary = await by.send('POST', '/files', 'words', { headers });
    const elsewhere = await send('/resources', { name: 'x' });
    const asOther = await send('/files', { workspace_id: workspace.id, document: words() });
    expect([noBoundary, elsewhere, asOther].map(({ status, error }) => [status, error.code])).toEqual([
      [400, 'unsupported_media_type'],
      [400, 'unsupported_media_type'],
      [400, 'invalid_json'],
    ]);
    const large = await send('/files', { workspace_id: workspace.id, file: new File(['x'.repeat(6 << 20)], 'x.txt') });
    expect([large.error.code, large.error.message]).toEqual(['payload_too_large', expect.stringContaining('upload')]);
  });
});

test('the capabilities list deprecated spellings, and when they end', async () => {
  interface Capabilities {
    readonly deprecations: readonly { readonly subject: string; readonly sunset: string; readonly note: string }[];
  }
  const { data } = await by.get<Capabilities>('/capabilities');
  expect(data.deprecations).toContainEqual({
    subject: 'POST /api/v1/workspaces/{workspace_id}/imports: url',
    sunset: expect.stringMatching(/^20\d\d-\d\d-\d\d$/),
    note: 'Use source_url.',
  });
  expect(data.deprecations).toContainEqual(expect.objectContaining({ subject: 'OrgMember.invited_by_id' }));
});
