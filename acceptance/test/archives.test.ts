import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv, type AnySchemaObject } from 'ajv';
import { type Archived, entriesOf, exported, jsonIn } from '../src/archives.js';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newFile } from '../src/files.js';
import { newAddress, type Person, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import { ROOT, type System } from '../src/system.js';

let system: System;
let boss: Person;

beforeAll(async () => {
  system = await standingSystem();
  boss = await signUp(system, 'Boss');
});

const newWorkspace = async (fields: object = {}): Promise<Workspace> =>
  (await boss.post<Workspace>('/workspaces', { name: 'Archived', ...fields })).data;

async function create(workspace: Workspace, fields: object): Promise<Resource> {
  return (await boss.post<Resource>('/resources', { type: 'folder', workspace_id: workspace.id, ...fields })).data;
}

const archive = (workspace: Workspace, body: object = {}, by: Api = boss) =>
  by.post<Archived>(`/workspaces/${workspace.id}/archive`, body);

describe('an archived workspace', () => {
  test('can be read and searched, and accepts writes only after it is active again', async () => {
    const workspace = await newWorkspace();
    const page = await create(workspace, { type: 'document', name: 'Page', content: 'About wombats.\n' });
    const trashed = await create(workspace, { name: 'Gone' });
    await boss.del(`/resources/${trashed.id}`);
    const first = await archive(workspace);
    expect(first.status).toBe(200);
    expect(first.data.workspace).toMatchObject({ state: 'archived', latest_archive: null });
    expect(first.data.archive).toMatchObject({ mode: 'archive', status: 'completed', download_url: null });
    const again = await archive(workspace, { mode: 'archive' });
    expect([again.status, again.data.workspace]).toEqual([200, first.data.workspace]);
    expect(again.data.archive).toEqual(first.data.archive);

    expect((await boss.get(`/resources/${page.id}/content`)).status).toBe(200);
    const found = await boss.post('/search', { query: 'wombats', workspace_ids: [workspace.id] });
    expect(found.status).toBe(200);
    const writes: [string, string, object?][] = [
      ['patch', `/workspaces/${workspace.id}`, { name: 'Other' }],
      ['post', '/resources', { type: 'folder', name: 'New', workspace_id: workspace.id }],
      ['post', '/resources', { type: 'folder', name: 'New', parent_id: page.id }],
      ['patch', `/resources/${page.id}`, { name: 'Other' }],
      ['patch', `/resources/${page.id}`, { is_locked: true }],
      ['patch', `/resources/${page.id}/content`, { content: 'Other' }],
      ['post', `/resources/${page.id}/copy`, {}],
      ['post', `/resources/${page.id}/comments`, { body: 'Words' }],
      ['post', `/resources/${page.id}/snapshots`, { name: 'Kept' }],
      ['post', `/resources/${page.id}/tags`, { name: 'tag' }],
      ['post', `/workspaces/${workspace.id}/tags`, { name: 'tag' }],
      ['del', `/resources/${page.id}`],
      ['post', `/resources/${trashed.id}/restore`, {}],
      ['post', `/workspaces/${workspace.id}/members`, { email: 'x@example.com' }],
      ['post', `/workspaces/${workspace.id}/pins`, { resource_id: page.id }],
      ['post', '/files', { name: 'a.txt', content_base64: 'eA==', workspace_id: workspace.id }],
    ];
    for (const [method, path, body] of writes) {
      const reply = await (method === 'del'
        ? boss.del(path)
        : method === 'patch'
          ? boss.patch(path, body)
          : boss.post(path, body ?? {}));
      expect([method, path, reply.status, reply.error.code]).toEqual([method, path, 409, 'workspace_archived']);
    }
    const listed = (await boss.get<List<Workspace>>('/workspaces?state=archived')).data.items;
    expect(listed.map(({ id }) => id)).toContain(workspace.id);

    const back = await archive(workspace, { mode: 'unarchive' });
    expect(back.data.workspace).toMatchObject({ state: 'active', archived_at: null });
    expect((await boss.patch(`/resources/${page.id}`, { name: 'Other' })).status).toBe(200);
  });

  test('can be archived by administrators of the Org as well, who cannot export it', async () => {
    const org = (await boss.post<Org>('/orgs', { name: 'Acme' })).data;
    const workspace = await newWorkspace({ org_id: org.id });
    const email = newAddress('admin');
    const { data: invited } = await boss.post<Member>(`/orgs/${org.id}/members`, { email, role: 'admin' });
    const admin = await signUp(system, 'Admin', { email, invitation: tokenOf(invited.invite_url) });
    expect((await archive(workspace, {}, admin)).data.workspace).toMatchObject({ state: 'archived' });
    expect((await archive(workspace, { mode: 'unarchive' }, admin)).status).toBe(200);
    const refused = await archive(workspace, { mode: 'export' }, admin);
    expect([refused.status, refused.error.code]).toEqual([403, 'insufficient_role']);
    await boss.post(`/workspaces/${workspace.id}/members`, { user_id: admin.user.id, role: 'editor' });
    const editor = await archive(workspace, { mode: 'export' }, admin);
    expect([editor.status, editor.error.code]).toEqual([403, 'insufficient_role']);
  });
});

test('an export says when to look again until it has ended', async () => {
  const workspace = await newWorkspace();
  const begun = await archive(workspace, { mode: 'export' });
  expect([begun.status, begun.headers.get('retry-after')]).toEqual([202, '1']);
  const answers: [status: string | undefined, retryAfter: string | null][] = [];
  await eventually(async () => {
    const { data, headers } = await boss.get<Archived['workspace']>(`/workspaces/${workspace.id}`);
    answers.push([data.latest_archive?.status, headers.get('retry-after')]);
    expect(data.latest_archive?.status).toBe('completed');
  });
  expect(answers).toEqual(answers.map(([status]) => [status, status === 'completed' ? null : '1']));
});

describe('a native export', () => {
  test('contains everything, byte for byte', async () => {
    const workspace = await newWorkspace({ name: 'Whole', description: 'All of it' });
    const folder = await create(workspace, { name: 'Secret', access_mode: 'restricted', icon: '🔒' });
    const text = 'Ünï *code*\r\n\r\n- [ ] task\n\n';
    const page = await create(workspace, {
      type: 'document',
      name: 'Page',
      parent_id: folder.id,
      content: text,
      tags: ['a'],
    });
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 251));
    const file = (await newFile(boss, { name: 'data.bin', parent_id: page.id }, bytes)).data.resource;
    const columns = [
      { id: 'name', name: 'Name, "quoted"' },
      { id: 'n', name: 'N', type: 'number' },
    ];
    const rows = Array.from({ length: 2500 }, (_, i) => ({ id: `r${i}`, cells: { name: `Row ${i}`, n: i } }));
    const table = await create(workspace, { type: 'table', name: 'Table', columns, rows });
    const artifact = await create(workspace, {
      type: 'artifact',
      name: 'Art',
      content: { artifact_type: 'svg', source: '<svg/>', assets: [{ name: 'data', resource_id: file.id }] },
    });
    await boss.post(`/resources/${page.id}/comments`, { body: 'A remark.', anchor: { quote: 'task' } });
    await boss.post(`/resources/${page.id}/snapshots`, { name: 'First' });

    const done = await exported(boss, workspace.id);
    expect(done).toMatchObject({ mode: 'export', format: 'native', status: 'completed' });
    expect(done.manifest).toEqual({ resource_count: 5, file_count: 1, errors: [] });
    expect(done.progress).toMatchObject({ total: 5, processed: 5, percent: 100 });
    const left = Date.parse(done.expires_at ?? '') - Date.now();
    expect(left / 86_400_000).toBeCloseTo(7, 1);
    const entries = await entriesOf(done);
    expect(jsonIn(entries, 'manifest.json')).toMatchObject({
      format: 'commonplace-archive',
      format_version: 1,
      workspace: { id: workspace.id, name: 'Whole', description: 'All of it' },
      counts: { resources: 5, files: 1, entries: entries.size },
    });
    expect(entries.get(`content/${page.id}.md`)?.toString()).toBe(text);
    expect(entries.get(`files/${file.id}`)?.equals(bytes)).toBe(true);
    expect(entries.get(`content/${artifact.id}.txt`)?.toString()).toBe('<svg/>');
    expect(jsonIn<{ rows: object[] }>(entries, `content/${table.id}.json`).rows).toHaveLength(2500);
    const csv = entries.get(`content/${table.id}.csv`)?.toString().split('\r\n') ?? [];
    expect([csv[0], csv[2500], csv.length]).toEqual(['"Name, ""quoted""",N', 'Row 2499,2499', 2502]);
    const shown = jsonIn<Record<string, unknown>>(entries, `resources/${page.id}.json`);
    expect(shown).toMatchObject({
      name: 'Page',
      parent_id: folder.id,
      tags: ['a'],
      created_by: { type: 'user', id: boss.user.id, email: boss.user.email },
      comments: `comments/${page.id}.json`,
      content: { path: `content/${page.id}.md`, format: 'markdown' },
    });
    expect(jsonIn<unknown[]>(entries, `comments/${page.id}.json`)).toMatchObject([{ body: 'A remark.' }]);
    const [snapshot = ''] = shown.snapshots as string[];
    expect(jsonIn(entries, snapshot)).toMatchObject({ name: 'First', content: { format: 'markdown', text } });
    expect(jsonIn<{ permissions: object[] }>(entries, `resources/${folder.id}.json`).permissions).toMatchObject([
      { principal: { type: 'user', email: boss.user.email } },
    ]);
    const { checksums } = jsonIn<{ checksums: { path: string; sha256: string }[] }>(entries, 'manifest.json');
    let sums = 0;
    for (const { path, sha256 } of checksums) {
      const list = entries.get(path) ?? Buffer.alloc(0);
      expect(sumOf(list)).toBe(sha256);
      for (const [, sum, entry = ''] of list.toString().matchAll(/^(\w{64}) {2}(.*)$/gm)) {
        expect([entry, sumOf(entries.get(entry) ?? Buffer.alloc(0))]).toEqual([entry, sum]);
        sums++;
      }
    }
    expect(sums).toBe(entries.size - checksums.length - 1);

    for (const [path, data] of entries) {
      const kind = kindOf(path);
      if (kind !== undefined) expect([path, faultsIn(kind, JSON.parse(data.toString()))]).toEqual([path, []]);
    }

    // A new one replaces it.
    const later = await exported(boss, workspace.id, { include: { files: false, comments: false, snapshots: false } });
    expect(later.id).not.toBe(done.id);
    await eventually(async () => expect((await fetch(done.download_url ?? '')).status).toBe(404));
    const bare = [...(await entriesOf(later)).keys()];
    expect(bare.filter((path) => /^(files|comments|snapshots)\//.test(path))).toEqual([]);
  });

  test('needs the scopes of its content', async () => {
    const workspace = await newWorkspace();
    const keyWith = async (...scopes: string[]) => {
      const body = { name: 'Key', scopes: ['workspace:write', 'workspace:read', ...scopes] };
      return api(system, (await boss.post<{ key: string }>('/api-keys', body)).data.key);
    };
    const poor = await archive(workspace, { mode: 'export' }, await keyWith('resource:read'));
    expect([poor.status, poor.error.code]).toEqual([403, 'insufficient_scope']);
    const key = await keyWith('resource:read', 'content:read');
    const wanting = await archive(workspace, { mode: 'export', include: { files: true } }, key);
    expect([wanting.status, wanting.error.code]).toEqual([403, 'insufficient_scope']);
    const done = await exported(key, workspace.id);
    expect(done.include).toEqual({ files: false, comments: false, snapshots: false, permissions: true });
  });

  test('works for an archived and for an empty workspace', async () => {
    const workspace = await newWorkspace();
    await archive(workspace);
    const done = await exported(boss, workspace.id);
    expect(done).toMatchObject({ status: 'completed', manifest: { resource_count: 0 } });
    expect([...(await entriesOf(done)).keys()].sort()).toEqual([
      'checksums/000001.sha256',
      'manifest.json',
      'tags.json',
    ]);
  });
});

describe('an export for people', () => {
  test('has no formulas in its CSV, whoever wrote them', async () => {
    const workspace = await newWorkspace();
    const texts = [
      '=1+1',
      '@SUM(A1)',
      "-1+cmd|' /C calc'!A0",
      '+HYPERLINK("x")',
      '\t=1',
      '-12',
      '+49 (0)30 12-3',
      "it's",
      '-',
      "x;=cmd|' /C calc'!A0",
      'a\n@SUM(A1)\n- one\n-5',
      'b\t-1+HYPERLINK(A1)',
    ];
    const { id } = await create(workspace, {
      type: 'table',
      name: 'T',
      columns: [
        { id: 'a', name: '=A' },
        { id: 'b', name: 'B', type: 'currency', options: { currency: 'EUR' } },
      ],
      rows: texts.map((text) => [text, -5]),
    });
    const entries = await entriesOf(await exported(boss, workspace.id, { format: 'markdown' }));
    expect(
      entries
        .get(`T ${id.slice(-8)}.csv`)
        ?.toString()
        .split('\r\n'),
    ).toEqual([
      "'=A,B",
      "'=1+1,-5.00 EUR",
      "'@SUM(A1),-5.00 EUR",
      "'-1+cmd|' /C calc'!A0,-5.00 EUR",
      '"\'+HYPERLINK(""x"")",-5.00 EUR',
      "'\t'=1,-5.00 EUR",
      '-12,-5.00 EUR',
      '+49 (0)30 12-3,-5.00 EUR',
      "it's,-5.00 EUR",
      '-,-5.00 EUR',
      "x;'=cmd|' /C calc'!A0,-5.00 EUR",
      '"a\n\'@SUM(A1)\n- one\n-5",-5.00 EUR',
      "b\t'-1+HYPERLINK(A1),-5.00 EUR",
      '',
    ]);
  });

  test.each(['markdown', 'html'])('as %s has names, and links between its entries', async (format) => {
    const workspace = await newWorkspace();
    const folder = await create(workspace, { name: 'A/B: "guides"' });
    const page = await create(workspace, { type: 'document', name: 'Page', parent_id: folder.id, content: '# Page' });
    const start = await create(workspace, { type: 'document', name: 'Start', content: `[Page](resource:${page.id})` });
    const table = await create(workspace, {
      type: 'table',
      name: 'T',
      columns: [{ id: 'a', name: 'A' }],
      rows: [['x<y']],
    });
    const done = await exported(boss, workspace.id, { format });
    const entries = await entriesOf(done);
    const tail = (id: string) => id.slice(-8);
    const extension = format === 'markdown' ? 'md' : 'html';
    const path = `A B guides ${tail(folder.id)}/Page ${tail(page.id)}.${extension}`;
    expect([...entries.keys()]).toContain(path);
    const text = entries.get(`Start ${tail(start.id)}.${extension}`)?.toString() ?? '';
    expect(text).toContain(encodeURI(path));
    expect(entries.get(`T ${tail(table.id)}.csv`)?.toString()).toBe('A\r\nx<y\r\n');
    if (format === 'html') {
      expect(entries.get('index.html')?.toString()).toContain(`Start%20${tail(start.id)}.html`);
      expect(entries.get(`T ${tail(table.id)}.html`)?.toString()).toContain('<td>x&lt;y</td>');
    }
  });
});

const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/archive-format.schema.json'), 'utf8')) as AnySchemaObject;
const ajv = new Ajv({ strict: false }).addSchema(SCHEMA, 'archive');

/** Returns the part of the documented schema that an entry has to follow. */
function kindOf(path: string): string | undefined {
  if (path === 'manifest.json' || path === 'tags.json') return path.slice(0, -'.json'.length);
  if (!path.endsWith('.json')) return undefined;
  const kinds: Record<string, string> = { resources: 'resource', comments: 'comments', snapshots: 'snapshot' };
  return kinds[path.split('/')[0] ?? ''] ?? (path.startsWith('content/') ? 'table' : undefined);
}

function faultsIn(kind: string, value: unknown): unknown[] {
  const validate = ajv.getSchema(`archive#/definitions/${kind}`);
  return validate?.(value) === true ? [] : (validate?.errors ?? ['there is no such schema']);
}

function sumOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
