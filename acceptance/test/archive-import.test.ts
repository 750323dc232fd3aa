import { beforeAll, expect, test } from '@jest/globals';
import { entriesOf, exported, jsonIn } from '../src/archives.js';
import { eventually } from '../src/eventually.js';
import { newFile } from '../src/files.js';
import { newAddress, type Person, signUp, tokenOf } from '../src/people.js';
import type { Comment, List, Member, Org, Resource, Workspace } from '../src/records.js';
import { treeIn } from '../src/same-archive.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Import {
  readonly id: string;
  readonly status: string;
  readonly root_resource_id: string | null;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly error: { readonly code: string } | null;
  readonly stats: Readonly<Record<string, number>>;
}

let system: System;
let boss: Person;
let editor: Person;
let org: Org;

beforeAll(async () => {
  system = await standingSystem();
  boss = await signUp(system, 'Boss');
  org = (await boss.post<Org>('/orgs', { name: 'Acme' })).data;
  const email = newAddress('editor');
  const { data: invited } = await boss.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  editor = await signUp(system, 'Editor', { email, invitation: tokenOf(invited.invite_url) });
});

const newWorkspace = async (name: string): Promise<Workspace> => {
  const workspace = (await boss.post<Workspace>('/workspaces', { name, org_id: org.id })).data;
  await boss.post(`/workspaces/${workspace.id}/members`, { user_id: editor.user.id, role: 'editor' });
  return workspace;
};

async function archiveOf({ id }: Workspace): Promise<Buffer> {
  const { download_url } = await exported(boss, id);
  return Buffer.from(await (await fetch(download_url ?? '')).arrayBuffer());
}

async function imported(workspace: Workspace, archive: Buffer, by: Person = boss): Promise<Import> {
  const body = { source_type: 'native_zip', content_base64: archive.toString('base64'), name: 'Restored' };
  const begun = await by.post<Import>(`/workspaces/${workspace.id}/imports`, body);
  if (begun.status !== 201) throw new Error(`an import is answered ${begun.status}`);
  let latest: Import = begun.data;
  await eventually(async () => {
    latest = (await by.get<Import>(`/imports/${begun.data.id}`)).data;
    if (['queued', 'running'].includes(latest.status)) throw new Error(`the import is ${latest.status}`);
  }, 60_000);
  return latest;
}

const FORM = {
  title: 'Tell us',
  success_message: 'Thank you',
  max_submissions: 7,
  fields: [
    { id: 'who', type: 'short_text', label: 'Who?', column_id: 'name', required: true },
    { id: 'count', type: 'number', label: 'How many?', column_id: 'n', min: 1 },
  ],
};

/** A table that two people have written, with snapshots; two thirds of its 1,500 rows existed at first. */
async function history(create: (fields: object) => Promise<Resource>): Promise<void> {
  const columns = [
    { id: 'name', name: 'Name' },
    {
      id: 'state',
      name: 'State',
      type: 'select',
      options: {
        choices: [
          { id: 'a', name: 'A' },
          { id: 'b', name: 'B' },
        ],
      },
    },
    { id: 'nr', name: 'Nr', type: 'auto_number' },
    { id: 'by', name: 'By', type: 'updated_by' },
    { id: 'at', name: 'At', type: 'created_at' },
    { id: 'old', name: 'Old', type: 'number' },
  ];
  const row = (i: number) => ({ id: `h${i}`, cells: { name: `Entry ${i}`, state: i % 2 === 0 ? 'a' : 'b', old: i } });
  const rows = Array.from({ length: 1000 }, (_, i) => row(i));
  const { id } = await create({ name: 'History', type: 'table', columns, rows, tags: ['kept'] });
  const path = `/resources/${id}`;
  await boss.post(`${path}/snapshots`, { name: 'First', description: 'A thousand' });
  const more = Array.from({ length: 500 }, (_, i) => row(1000 + i));
  await editor.patch(`${path}/content`, { mode: 'append', rows: more });
  await editor.patch(`${path}/content`, { mode: 'upsert', rows: [{ id: 'h7', cells: { name: 'Changed' } }] });
  await boss.patch(`${path}/content`, { mode: 'upsert', rows: [], delete_row_ids: ['h3', 'h1200'] });
  await editor.post(`${path}/snapshots`, { name: 'Second' });
  // A number column becomes a text column, and another one is deleted.
  const kept = columns.filter(({ id: column }) => column !== 'state');
  const { data } = await boss.get<{ rows: { id: string; cells: Record<string, unknown> }[] }>(
    `${path}/content?limit=200`,
  );
  const few = data.rows.slice(0, 50).map(({ id: rowId, cells }) => {
    return { id: rowId, cells: { name: cells.name, old: `${cells.old}` } };
  });
  const changed = kept.map((column) => (column.id === 'old' ? { ...column, type: 'text' } : column));
  const replaced = await boss.patch(`${path}/content`, { columns: changed, rows: few });
  expect(replaced.status).toBe(200);
  await boss.patch(path, { is_locked: true });
}

/** A workspace with some of everything. */
async function filled(): Promise<Workspace> {
  const workspace = await newWorkspace('Source');
  const create = async (fields: object, by = boss) =>
    (await by.post<Resource>('/resources', { type: 'folder', workspace_id: workspace.id, ...fields })).data;
  const secret = await create({ name: 'Secret', access_mode: 'restricted', icon: '🔒', description: 'Not for all' });
  const body = { principal_type: 'user', principal_id: editor.user.id, role: 'commenter' };
  await boss.post(`/resources/${secret.id}/permissions`, body);
  await create({ name: 'Empty' });
  const guide = await create({
    name: 'Guide',
    type: 'document',
    content: '# Guide\n\nFirst words.\n',
    parent_id: secret.id,
  });
  await boss.patch(`/resources/${guide.id}/content`, { content: '# Guide\r\n\r\nOther *words* to talk about.\r\n' });
  await boss.post(`/resources/${guide.id}/snapshots`, { name: 'Second', description: 'As it was then' });
  await boss.patch(`/resources/${guide.id}/content`, { content: '# Guide\n\nOther words to talk about, again.\n' });
  const attached = (await newFile(boss, { name: 'plan.bin', parent_id: guide.id }, Buffer.from([0, 255, 1, 2]))).data;
  const text = `See [Guide](resource:${guide.id}#top) and ![](resource:${attached.resource.id}).\n\n- [ ] open\n`;
  const start = await create({
    name: 'Start',
    type: 'document',
    content: text,
    tags: ['first', 'Zweites'],
    metadata: { key: ['value', 1] },
    external_id: 'start-1',
  });
  const json = { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'JSON' }] }] };
  await create({ name: 'Blocks', type: 'document', content: json, parent_id: start.id });
  await create({ name: 'By the editor', type: 'document', content: 'Mine' }, editor);
  const columns = [
    { id: 'name', name: 'Name' },
    { id: 'page', name: 'Page', type: 'resource' },
    { id: 'twice', name: 'Twice', type: 'formula', options: { expression: '{N} * 2' } },
    { id: 'n', name: 'N', type: 'number' },
  ];
  const rows = Array.from({ length: 1200 }, (_, i) => ({
    id: `r${i}`,
    cells: { name: `Row ${i}`, n: i, page: [guide.id] },
  }));
  const table = await create({ name: 'Table', type: 'table', columns, rows });
  await history(create);
  await create({
    name: 'Links',
    type: 'table',
    columns: [
      { id: 'a', name: 'A' },
      { id: 'l', name: 'L', type: 'link', options: { target_table_id: table.id } },
    ],
    rows: [{ id: 'x', cells: { a: 'x', l: ['r1', 'r2'] } }],
  });
  await boss.post(`/resources/${table.id}/form`, { config: FORM });
  await boss.post(`/resources/${guide.id}/publish`, { slug: `guide-${guide.id.slice(0, 8)}`, title: 'The guide' });
  const assets = [{ name: 'data', resource_id: attached.resource.id }];
  await create({
    name: 'Art',
    type: 'artifact',
    content: { artifact_type: 'svg', source: '<svg/>', title: 'T', assets },
  });
  const comment = async (by: Person, fields: object) =>
    (await by.post<Comment>(`/resources/${guide.id}/comments`, fields)).data;
  const head = await comment(boss, { body: `About [this](resource:${start.id})`, anchor: { quote: 'words to talk' } });
  await comment(editor, { body: 'Yes.', parent_comment_id: head.id, mentions: [boss.user.id] });
  const settled = await comment(editor, { body: 'Done?' });
  await boss.patch(`/resources/${guide.id}/comments/${settled.id}`, { status: 'resolved', reactions: ['👍'] });
  const locked = await create({ name: 'Locked', type: 'document', content: 'Fixed' });
  await boss.patch(`/resources/${locked.id}`, { is_locked: true });
  return workspace;
}

test('an imported archive creates an equal tree, and an equal archive again', async () => {
  const first = await archiveOf(await filled());
  const target = await newWorkspace('Target');
  const done = await imported(target, first);
  expect(done).toMatchObject({ status: 'completed', error: null });
  const again = await exported(boss, target.id);
  expect(again.manifest?.errors).toEqual([]);
  const before = treeIn(await unpacked(first));
  const after = treeIn(await entriesOf(again), 'Restored');
  expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
  // The reserved places of a table's former columns are not copied.
  const history = [...before.keys()].find((path) => path.startsWith('History#')) ?? '';
  for (const tree of [before, after]) tree.set(history, { ...(tree.get(history) as object), size_bytes: null });
  expect(Object.fromEntries(after)).toEqual(Object.fromEntries(before));
  expect(before.size).toBe(12);
  const kept = (before.get(history) as { snapshots: { reason: string; content: { rows: unknown[] } }[] }).snapshots;
  expect(kept.map(({ reason, content: { rows } }) => [reason, rows.length])).toEqual([
    ['manual', 1498],
    ['before_replace', 1500],
    ['before_replace', 1500],
    ['manual', 1000],
  ]);
  await restores(target);
}, 120_000);

/** Restores and reads an imported snapshot of a table like any other one. */
async function restores(target: Workspace): Promise<void> {
  const query = `?q=History&type=table`;
  const { data: found } = await boss.get<List<Resource>>(`/workspaces/${target.id}/resources${query}`);
  const path = `/resources/${found.items[0]?.id}`;
  await boss.patch(path, { is_locked: false });
  const { data: kept } = await boss.get<List<{ id: string; name: string | null }>>(`${path}/snapshots`);
  const first = kept.items.find(({ name }) => name === 'First')?.id;
  expect((await boss.patch(`${path}/content`, { snapshot_id: first })).status).toBe(200);
  await boss.patch(`${path}/content`, { mode: 'append', rows: [{ cells: { name: 'Next', state: 'a', old: 5 } }] });
  const { data: now } = await boss.get<{ rows: object[] }>(`${path}/content?offset=999`);
  expect(now.rows).toMatchObject([
    { id: 'h999', cells: { name: 'Entry 999', state: 'b', nr: 1000, old: 999 } },
    { cells: { name: 'Next', state: 'a', old: 5 } },
  ]);
}

async function unpacked(archive: Buffer) {
  const { unzipSync } = await import('fflate');
  return new Map(Object.entries(unzipSync(archive)).map(([path, data]) => [path, Buffer.from(data)]));
}

test('forms get tokens of their own and no secret, and nothing is published', async () => {
  const source = await newWorkspace('Collecting');
  const columns = [{ id: 'name', name: 'Name' }];
  const table = { type: 'table', name: 'Answers', columns, rows: [], workspace_id: source.id };
  const { id } = (await boss.post<Resource>('/resources', table)).data;
  const webhooks = [{ url: 'https://example.com/hook' }];
  const config = { ...FORM, fields: [FORM.fields[0]], notify_user_ids: [boss.user.id], webhooks };
  const { data: made } = await boss.post(`/resources/${id}/form`, { config });
  await boss.post(`/resources/${id}/publish`, { slug: `answers-${id.slice(0, 8)}`, visibility: 'public' });
  const password = 'nobody finds this';
  const whole = { slug: `collecting-${id.slice(0, 8)}`, visibility: 'password', password, title: 'All of it' };
  await boss.post(`/workspaces/${source.id}/publish`, whole);
  const archive = await archiveOf(source);
  const { workspace } = jsonIn<{ workspace: object }>(await unpacked(archive), 'manifest.json');
  const shown = { slug: whole.slug, is_active: true, visibility: 'password', title: 'All of it', mode: 'live' };
  expect(workspace).toMatchObject({ id: source.id, publication: shown });
  const held = [...(await unpacked(archive)).values()].map(String).join('\n');
  const { form } = made as { form: { token: string; webhook_token: string; webhook_secrets: { secret: string }[] } };
  const secrets = [form.token, form.webhook_token, ...form.webhook_secrets.map(({ secret }) => secret)];
  expect(secrets).toHaveLength(3);
  for (const secret of [...secrets, password]) expect(held.includes(secret)).toBe(false);
  const target = await newWorkspace('Collecting again');
  const done = await imported(target, archive);
  const texts = JSON.stringify(done.warnings) + (await boss.get(`/imports/${done.id}?include=items`)).text;
  expect(texts).toContain(`answers-${id.slice(0, 8)}`);
  expect((await boss.get<{ report: string }>(`/imports/${done.id}`)).data.report).toContain(whole.slug);
  expect((await boss.get(`/workspaces/${target.id}/publish`)).data).toMatchObject({ status: 'unpublished' });
  const listed = await boss.get<{ items: Resource[] }>(`/workspaces/${target.id}/resources?type=table`);
  const copy = listed.data.items[0]?.id;
  const { data } = await boss.get(`/resources/${copy}/form`);
  const restored = (data as { form: typeof form & { is_active: boolean; config: unknown } }).form;
  expect(restored).toMatchObject({
    is_active: true,
    config: {
      title: 'Tell us',
      max_submissions: 7,
      fields: [{ id: 'who', column_id: 'name', required: true }],
      notify_user_ids: [boss.user.id],
      webhooks: [{ url: 'https://example.com/hook', is_active: false }],
    },
  });
  expect(restored.token).toHaveLength(32);
  expect([form.token, form.webhook_token]).not.toContain(restored.token);
  const sent = await boss.post(`/forms/${restored.token}/submit`, { values: { who: 'Ada' } });
  expect(sent.status).toBe(201);
  expect((await boss.get(`/resources/${copy}/publish`)).data).toMatchObject({ status: 'unpublished' });
}, 120_000);

test('unknown people keep their names, and get no access', async () => {
  const archive = await archiveOf(await filled());
  const stranger = await signUp(system, 'Stranger');
  const own = (await stranger.post<Workspace>('/workspaces', { name: 'Elsewhere' })).data;
  const done = await imported(own, archive, stranger);
  expect(done.status).toBe('completed');
  const entries = await entriesOf(await exported(stranger, own.id));
  const found = [...entries.keys()].filter((path) => path.startsWith('comments/'));
  const comments = jsonIn<{ body: string; author: { type: string; name: string } }[]>(entries, found[0] ?? '');
  expect(comments.map(({ author }) => [author.type, author.name])).toEqual([
    ['import', 'Boss'],
    ['import', 'Editor'],
    ['import', 'Editor'],
  ]);
  const restricted = [...entries.keys()]
    .filter((path) => path.startsWith('resources/'))
    .map((path) => jsonIn<{ name: string; permissions: { principal: { id: string } }[] }>(entries, path));
  const ids = restricted.flatMap(({ permissions }) => permissions.map(({ principal }) => principal.id));
  expect(new Set(ids)).toEqual(new Set([stranger.user.id]));
}, 120_000);

test('a file that is not an archive of a workspace is refused with its name', async () => {
  const { zipSync } = await import('fflate');
  const target = await newWorkspace('Wrong');
  const zip = (files: Record<string, unknown>) =>
    Buffer.from(
      zipSync(
        Object.fromEntries(Object.entries(files).map(([path, value]) => [path, Buffer.from(JSON.stringify(value))])),
      ),
    );
  const manifest = { format: 'commonplace-archive', format_version: 1, content: 'native' };
  const cases: [Record<string, unknown>, string][] = [
    [{ 'page.md': 'x' }, 'not_an_archive'],
    [{ 'manifest.json': { format: 'other' } }, 'not_an_archive'],
    [{ 'manifest.json': { ...manifest, format_version: 99 } }, 'archive_version'],
    [{ 'manifest.json': manifest }, 'nothing_in_archive'],
  ];
  for (const [files, code] of cases) {
    const done = await imported(target, zip(files));
    expect([done.status, done.error?.code]).toEqual(['failed', code]);
  }
  const id = '0190a000-0000-7000-8000-000000000001';
  const hostile = {
    id,
    type: 'table',
    name: 'x'.repeat(1000),
    parent_id: id,
    position: 5,
    tags: [1, {}],
    created_by: 'me',
    content: { path: '../../etc/passwd', __proto__: { x: 1 } },
    snapshots: ['nowhere'],
    comments: 'manifest.json',
    permissions: [{ principal: { type: 'user', email: 'x' }, role: 'king' }],
  };
  const other = { ...hostile, id: id.replace(/1$/, '2'), type: 'folder', parent_id: null, content: null };
  const files = { 'manifest.json': manifest, [`resources/${id}.json`]: hostile, [`resources/${other.id}.json`]: other };
  const done = await imported(target, zip(files));
  expect(done.status).toBe('completed_with_errors');
});
