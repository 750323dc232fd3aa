import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { exported } from '../src/archives.js';
import { type Api, api } from '../src/client.js';
import { eventsOf } from '../src/events.js';
import { archive, finished, importAll, inline, itemsOf, putUpload } from '../src/imports.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { Content, Import, List, Me, Resource, TableContent, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import { mode, type System } from '../src/system.js';

let system: System;
let by: Api;
let workspace: Workspace;
let imports: string;

beforeAll(async () => {
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Imports' })).data;
  imports = `/workspaces/${workspace.id}/imports`;
});

const begin = (body: object, headers = {}) => by.post<Import>(imports, body, { headers });
const zip = (entries: Parameters<typeof archive>[0], more: object = {}) =>
  importAll(by, workspace.id, { source_type: 'markdown_zip', ...inline(archive(entries)), ...more });
const read = async (id: string | null | undefined) =>
  (await by.get<Resource>(`/resources/${id}?include=path,tags`)).data;
const textOf = async (id: string | null | undefined) =>
  (await by.get<Content>(`/resources/${id}/content`)).data.content;

/** Returns an archive whose names are UTF-8 without a flag that says so, as those of macOS. */
function withoutUtf8Flag(zip: Buffer): Buffer {
  const copy = Buffer.from(zip);
  for (const [signature, offset] of [
    ['504b0102', 8],
    ['504b0304', 6],
  ] as const) {
    const bytes = Buffer.from(signature, 'hex');
    for (let at = copy.indexOf(bytes); at >= 0; at = copy.indexOf(bytes, at + 4)) {
      copy.writeUInt16LE(copy.readUInt16LE(at + offset) & ~0x800, at + offset);
    }
  }
  return copy;
}

describe('an archive of Markdown', () => {
  test('becomes folders, documents and files, with links, metadata and tags', async () => {
    const page =
      '---\ntitle: Start here\ntags: [one, two]\nowner: me\ndate: 2020-02-03\n---\n# Else\n\n[b](sub/b.md#part) ![i](img/i.svg) [x](gone.md)\n';
    const done = await zip(
      {
        'top/a.md': page,
        'top/sub/b.md': '# Bee\n\n[up](../a.md) [file](../notes.txt)\n',
        'top/img/i.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
        'top/notes.txt': 'Notes',
        'top/unused.txt': 'Unused',
        'top/empty/unused.bin': 'x',
      },
      { name: 'All of it', options: { keep_dates: true } },
    );
    expect(done).toMatchObject({
      status: 'completed',
      name: 'All of it',
      error: null,
      stats: { documents: 2, files: 2, folders: 3, links_rewritten: 4, links_broken: 1 },
      progress: { total: 10, processed: 10, succeeded: 7, skipped: 3, failed: 0, percent: 100 },
      warnings: [{ code: 'links_broken', message: expect.stringMatching(/^1 link leads to .* lists it\.$/) }],
      access: 'private',
    });
    const items = new Map((await itemsOf(by, done.id)).map((item) => [item.path, item]));
    const idOf = (path: string) => items.get(path)?.resource_id;
    const a = await read(idOf('top/a.md'));
    expect(a).toMatchObject({
      name: 'Start here',
      type: 'document',
      metadata: { owner: 'me', title: 'Start here' },
      created_at: '2020-02-03T00:00:00.000Z',
      created_by: { type: 'import', id: done.id },
      source: { type: 'import', import_id: done.id },
    });
    expect(a.path?.map(({ name }) => name)).toEqual(['All of it', 'top']);
    expect(a).toMatchObject({ tags: [expect.any(String), expect.any(String)] });
    const expected = page
      .replace('sub/b.md', `resource:${idOf('top/sub/b.md')}`)
      .replace('img/i.svg', `resource:${idOf('top/img/i.svg')}`);
    expect(await textOf(a.id)).toBe(expected);
    expect((await read(idOf('top/sub/b.md'))).name).toBe('Bee');
    expect(await textOf(idOf('top/sub/b.md'))).toContain(`[file](resource:${idOf('top/notes.txt')})`);
    expect(items.get('top/unused.txt')).toMatchObject({ status: 'skipped', code: 'not_linked', resource_id: null });
    expect(items.get('top/empty')).toMatchObject({ status: 'skipped', code: 'not_linked' });
    expect(done.report).toContain('`top/a.md`: `gone.md`');
    const { status, text } = await by.get(`/resources/${idOf('top/notes.txt')}/file`);
    expect([status, JSON.parse(text).data.size_bytes]).toEqual([200, 5]);
  });

  test('keeps the links of an Obsidian vault, and counts those that lead nowhere', async () => {
    const done = await zip({
      'Vault/Start.md':
        'See [[Plan|the plan]], [[deep/Plan#Goals]] and [[Lost page]].\n\n![[map.png|300]]\n\n`[[Plan]]`\n',
      'Vault/deep/Plan.md': 'Back to [[start]].\n',
      'Vault/files/map.png': Buffer.from('89504e470d0a1a0a', 'hex'),
      'Vault/files/unused.pdf': 'x',
    });
    expect(done).toMatchObject({ status: 'completed', stats: { links_rewritten: 4, links_broken: 1 } });
    expect(done.report).toContain('`Vault/Start.md`: `[[Lost page]]`');
    const ids = new Map((await itemsOf(by, done.id)).map((item) => [item.path, item.resource_id]));
    const plan = `resource:${ids.get('Vault/deep/Plan.md')}`;
    expect(await textOf(ids.get('Vault/Start.md'))).toBe(
      `See [the plan](${plan}), [deep/Plan > Goals](${plan}#Goals) and [[Lost page]].\n\n![map.png](resource:${ids.get('Vault/files/map.png')})\n\n\`[[Plan]]\`\n`,
    );
    expect(await textOf(ids.get('Vault/deep/Plan.md'))).toBe(
      `Back to [start](resource:${ids.get('Vault/Start.md')}).\n`,
    );
  });

  test('made by macOS, with decomposed names and files of its own, is imported with its links', async () => {
    const mac = { os: 3, attrs: 0o100644 << 16 } as const;
    const nfd = (path: string) => path.normalize('NFD');
    const bytes = archive({
      [nfd('Übung/Prüfung.md')]: [Buffer.from('[Å](Größe.md) ![ä](bilder/ä.svg) [[Größe]]'), mac],
      [nfd('__MACOSX/Übung/._Prüfung.md')]: [Buffer.from('\0\u0005\u0016\u0007'), mac],
      [nfd('Übung/Größe.md')]: [Buffer.from(nfd('[zurück](Prüfung.md)')), mac],
      [nfd('Übung/bilder/ä.svg')]: [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), mac],
      'Übung/Größe.md': [Buffer.from('The same name, composed'), mac],
      'Übung/.DS_Store': [Buffer.from('\0\0\0\u0001Bud1'), mac],
    });
    const done = await importAll(by, workspace.id, { source_type: 'markdown_zip', ...inline(withoutUtf8Flag(bytes)) });
    expect(done).toMatchObject({
      status: 'completed',
      stats: { documents: 3, files: 1, links_rewritten: 4, links_broken: 0 },
      progress: { skipped: 2, failed: 0 },
    });
  });

  test('continues after a page that fails, and a retry runs only the failed ones', async () => {
    const bytes = archive({
      'good.md': '[b](bad.md)',
      'bad.md': [Buffer.from('damaged page'), { level: 0 }],
      'dir/c.md': 'C',
    });
    bytes.write('D', bytes.indexOf('damaged page'));
    const done = await importAll(by, workspace.id, { source_type: 'markdown_zip', ...inline(bytes) });
    expect(done).toMatchObject({
      status: 'completed_with_errors',
      attempt: 1,
      stats: { documents: 2, links_broken: 1 },
      progress: { failed: 1, succeeded: 3 },
    });
    const failed = await itemsOf(by, done.id, 'failed');
    expect(failed).toMatchObject([{ path: 'bad.md', code: 'archive_entry_damaged', resource_id: null }]);
    expect(done.report).toContain('`archive_entry_damaged` `bad.md`');
    const before = await itemsOf(by, done.id, 'created');
    const versions = await Promise.all(before.map(async ({ resource_id: id }) => (await read(id)).version));

    const again = await by.post<Import>(`/imports/${done.id}/retry`, {});
    expect([again.status, again.data.status, again.data.attempt]).toEqual([202, 'queued', 2]);
    const second = await finished(by, done.id);
    expect(second).toMatchObject({ status: 'completed_with_errors', attempt: 2, stats: done.stats });
    expect(await itemsOf(by, done.id, 'created')).toEqual(before);
    const after = await Promise.all(before.map(async ({ resource_id: id }) => (await read(id)).version));
    expect(after).toEqual(versions);

    expect((await by.post(`/imports/${done.id}/retry`, { scope: 'all' })).status).toBe(202);
    expect(await finished(by, done.id)).toMatchObject({ attempt: 3, status: 'completed_with_errors' });
    const { page } = await by.get<List<Resource>>(
      `/workspaces/${workspace.id}/resources?parent_id=${done.root_resource_id}&recursive=true`,
    );
    expect(page.total).toBe(3);
  });

  test('is written again as a whole, although a page in it can still not be created', async () => {
    const done = await zip({
      'a/index.md': '# A',
      'a/b/index.md': '# B',
      'a/b/c.md': '# C',
      'a/big.md': 'x\n\n'.repeat(20_100),
    });
    const failed = await itemsOf(by, done.id, 'failed');
    expect(failed).toMatchObject([{ path: 'a/big.md' }]);
    const created = (await itemsOf(by, done.id, 'created')).map(({ path }) => path);
    expect((await by.post(`/imports/${done.id}/retry`, { scope: 'all' })).status).toBe(202);
    const again = await finished(by, done.id);
    expect(again).toMatchObject({ status: 'completed_with_errors', error: null, progress: done.progress });
    expect((await itemsOf(by, done.id, 'updated')).map(({ path }) => path)).toEqual(created);
    expect(await itemsOf(by, done.id, 'failed')).toMatchObject([{ path: 'a/big.md', code: failed[0]?.code }]);
  });

  test('can be tried without writing anything', async () => {
    const before = (await by.get(`/workspaces/${workspace.id}/resources?limit=1`)).page.total;
    const done = await zip({ 'a.md': '[b](b.md)', 'b.md': '' }, { dry_run: true });
    expect(done).toMatchObject({ status: 'completed', dry_run: true, root_resource_id: null, stats: { documents: 2 } });
    expect((await itemsOf(by, done.id)).map(({ resource_id: id }) => id)).toEqual([null, null]);
    expect((await by.get(`/workspaces/${workspace.id}/resources?limit=1`)).page.total).toBe(before);
  });

  test.each([
    ['nothing_imported', archive({ 'a.bin': 'x' })],
    ['archive_unsafe_path', archive({ '../a.md': 'x' })],
    ['archive_ratio_exceeded', archive({ 'a.md': [Buffer.alloc(3_000_000), { level: 9 }] })],
    ['archive_link', archive({ 'a.md': [Buffer.from('/etc/passwd'), { os: 3, attrs: 0o120777 << 16 }] })],
    ['archive_invalid', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(60)])],
    ['unsupported_format', Buffer.from('no archive')],
  ])('fails with a code: %s', async (code, bytes) => {
    const done = await importAll(by, workspace.id, { source_type: 'markdown_zip', ...inline(bytes) });
    expect([done.status, done.error?.code, done.root_resource_id]).toEqual(['failed', code, null]);
    expect(done.report).toContain(`\`${code}\``);
    expect((await by.post(`/imports/${done.id}/retry`, {})).status).toBe(202);
    expect((await finished(by, done.id)).error?.code).toBe(code);
  });
});

describe('an import', () => {
  test('whose items would all fail again says that it cannot be repeated with success', async () => {
    const done = await importAll(by, workspace.id, { source_type: 'csv', content: '' });
    expect(await itemsOf(by, done.id)).toMatchObject([{ status: 'failed', code: 'empty_table', retryable: false }]);
    expect(done.error).toMatchObject({ code: 'nothing_imported', retryable: false });
  });

  test('of one page needs no folder, and is placed where requested', async () => {
    const folder = (await by.post<Resource>('/resources', { type: 'folder', name: 'F', workspace_id: workspace.id }))
      .data;
    const body = { source_type: 'markdown', content: '# One\n\ntext', parent_id: folder.id };
    const done = await importAll(by, workspace.id, body);
    const page = await read(done.root_resource_id);
    expect([done.access, page.name, page.parent_id, page.access_mode]).toEqual([
      'inherit',
      'One',
      folder.id,
      'inherit',
    ]);
    const own = await importAll(by, workspace.id, { source_type: 'markdown', content: 'x', name: 'Box' });
    const box = await read(own.root_resource_id);
    expect([own.access, box.type, box.name, box.access_mode]).toEqual(['private', 'folder', 'Box', 'restricted']);
  });

  test('waits for its bytes, and can be followed as events until its end', async () => {
    const { status, data } = await begin({ source_type: 'markdown', upload: true, name: 'Later' });
    expect([status, data.status, data.phase]).toEqual([201, 'pending_upload', 'upload']);
    const url = `${system.baseUrl}/api/v1/imports/${data.id}`;
    const headers = { Authorization: `Bearer ${system.owner.apiKey}`, Accept: 'text/event-stream' };
    const stream = await fetch(url, { headers });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    await putUpload(data, Buffer.from('# Came later'));
    const events = (await stream.text()).split('\n\n').filter((text) => text.startsWith('id: '));
    const names = events.map((text) => /^event: (.+)$/m.exec(text)?.[1]);
    expect([names[0], names.at(-1)]).toEqual(['import.progress', 'import.completed']);
    const last = JSON.parse(/^data: (.+)$/m.exec(events.at(-1) ?? '')?.[1] ?? '{}');
    expect(last).toMatchObject({ id: data.id, status: 'completed', request_id: expect.stringMatching(/^req_/) });
    const ids = events.map((text) => Number(/^id: (\d+)$/m.exec(text)?.[1]));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(last.sequence).toBe(ids.at(-1));
    // A client that has missed the answer puts the bytes again; a bucket takes them by itself.
    if (mode === 'embedded') await putUpload(data, Buffer.from('# Came later'));
    const hidden = await fetch(`${system.baseUrl}/api/v1/imports/${randomUUID()}`, { headers });
    expect([hidden.status, hidden.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8']);
  });

  test('is followed by a reconnecting client, and by one whose import is removed or whose key is revoked', async () => {
    const { data } = await begin({ source_type: 'markdown', upload: true, name: 'Followed' });
    const url = `${system.baseUrl}/api/v1/imports/${data.id}`;
    const key = await newKey(by, ['import:read']);
    const open = async (token: string, more = {}) => {
      const headers = { Authorization: `Bearer ${token}`, Accept: 'text/event-stream', ...more };
      return eventsOf(await fetch(url, { headers }));
    };
    const [mine, theirs] = [await open(system.owner.apiKey), await open(key.key)];
    const first = await mine.next();
    expect(await theirs.next()).toMatchObject({ event: 'import.progress', id: first?.id });
    await by.del(`/api-keys/${key.id}`);
    expect(await theirs.next()).toMatchObject({ event: 'error', data: { code: 'revoked_key' } });
    expect(await theirs.next()).toBeUndefined();
    const again = await open(system.owner.apiKey, { 'Last-Event-ID': first?.id });
    await by.del(`/imports/${data.id}`);
    for (const stream of [mine, again]) {
      const last = await stream.next();
      expect(last).toMatchObject({ event: 'import.canceled', data: { id: data.id, status: 'canceled' } });
      expect(Number(last?.id)).toBeGreaterThan(Number(first?.id));
      expect(await stream.next()).toBeUndefined();
    }
  });

  test('is listed, is removed together with what it created, and no longer exists then', async () => {
    const done = await zip({ 'a/a.md': 'A', 'a/b.md': 'B' });
    const { data } = await by.get<List<Import>>(`${imports}?status=completed&limit=200`);
    expect(data.items.map(({ id }) => id)).toContain(done.id);
    const gone = await by.del(`/imports/${done.id}?delete_resources=true`);
    expect([gone.status, gone.data]).toEqual([200, { id: done.id, deleted: true, resources_deleted: 4 }]);
    expect((await by.get(`/imports/${done.id}`)).status).toBe(404);
    expect((await by.get(`/resources/${done.root_resource_id}`)).error.code).toBe('resource_in_trash');
    const waiting = (await begin({ source_type: 'markdown', upload: true })).data;
    expect((await by.post(`/imports/${waiting.id}/retry`, {})).error.code).toBe('import_active');
    expect((await by.del(`/imports/${waiting.id}`)).data).toMatchObject({ deleted: true, resources_deleted: 0 });
    const kept = await zip({ 'a.md': 'A' });
    expect((await by.post(`/imports/${kept.id}/retry`, {})).error.code).toBe('import_not_retryable');
    await by.del(`/imports/${kept.id}`);
    expect((await read(kept.root_resource_id)).state).toBe('active');
  });

  test('is created once under one key', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const body = { source_type: 'markdown', content: 'x' };
    const first = await begin(body, headers);
    const second = await begin(body, headers);
    expect([second.status, second.data.id]).toEqual([201, first.data.id]);
  });

  test('by external ids skips, replaces or duplicates existing resources', async () => {
    const json = (name: string) => ({
      source_type: 'json',
      content: JSON.stringify([{ external_id: 'e1', name, content: name }]),
    });
    const done = await importAll(by, workspace.id, json('First'));
    const [item] = await itemsOf(by, done.id);
    if (item?.external_id !== 'e1') return;
    const skip = await importAll(by, workspace.id, { ...json('Second'), conflict: 'skip' });
    expect(await itemsOf(by, skip.id)).toMatchObject([{ status: 'skipped', code: 'already_exists' }]);
    const update = await importAll(by, workspace.id, { ...json('Third'), conflict: 'update' });
    expect(await itemsOf(by, update.id)).toMatchObject([{ status: 'updated', resource_id: item.resource_id }]);
    expect((await read(item.resource_id)).name).toBe('Third');
  });

  test('of existing pages creates no folder around them, and removes none of them', async () => {
    const page = (text: string) => inline(archive({ [`Export/Page ${'0'.repeat(31)}7.md`]: `# Page\n\n${text}` }));
    const notion = { source_type: 'notion_zip' };
    const first = await importAll(by, workspace.id, { ...notion, ...page('one') });
    const [item] = (await itemsOf(by, first.id)).filter(({ external_id: id }) => id !== null);
    const count = async () => (await by.get(`/workspaces/${workspace.id}/resources?limit=1`)).page.total;
    const before = await count();
    const skip = await importAll(by, workspace.id, { ...notion, ...page('two'), conflict: 'skip' });
    expect([skip.status, skip.root_resource_id, await count()]).toEqual(['completed', null, before]);
    const update = await importAll(by, workspace.id, { ...notion, ...page('three'), conflict: 'update' });
    expect([update.status, update.root_resource_id, await count()]).toEqual(['completed', null, before]);
    expect(await textOf(item?.resource_id)).toContain('three');
    expect((await by.del(`/imports/${update.id}?delete_resources=true`)).data).toMatchObject({ resources_deleted: 0 });
    expect((await read(item?.resource_id)).state).toBe('active');
  });

  test('of new pages below an existing one that it replaces, at once or by one retry after it was locked', async () => {
    const id = (last: string) => `${'0'.repeat(30)}${last}`;
    const page = (text: string) => ({ [`Export/Top ${id('a1')}.md`]: `# Top\n\n${text}` });
    const below = (name: string, last: string) => ({
      [`Export/Top ${id('a1')}/${name} ${id(last)}.md`]: `# ${name}`,
      [`Export/Top ${id('a1')}/${name} ${id(last)}/Leaf of ${name} ${id(`${last.slice(0, 1)}f`)}.md`]: '# Leaf',
    });
    const notion = (entries: Record<string, string>) =>
      importAll(by, workspace.id, { source_type: 'notion_zip', conflict: 'update', ...inline(archive(entries)) });
    const first = await notion(page('one'));
    const [top] = (await itemsOf(by, first.id)).filter(({ external_id: known }) => known !== null);
    const update = await notion({ ...page('two'), ...below('New', 'b1') });
    expect(update).toMatchObject({ status: 'completed', progress: { failed: 0 } });

    await by.patch(`/resources/${top?.resource_id}`, { is_locked: true });
    const locked = await notion({ ...page('three'), ...below('Later', 'c1') });
    const codes = (await itemsOf(by, locked.id, 'failed')).map(({ code }) => code);
    expect(codes).toEqual(['resource_locked', 'parent_failed', 'parent_failed']);
    await by.patch(`/resources/${top?.resource_id}`, { is_locked: false });
    await by.post(`/imports/${locked.id}/retry`, {});
    expect(await finished(by, locked.id)).toMatchObject({ status: 'completed', attempt: 2, progress: { failed: 0 } });
    const inTop = `/workspaces/${workspace.id}/resources?parent_id=${top?.resource_id}`;
    expect((await by.get<List<Resource>>(inTop)).data.items.map(({ name }) => name)).toEqual(['New', 'Later']);
    expect(await textOf(top?.resource_id)).toContain('three');
  });

  test('of a table imports all of its rows, however many calls that takes', async () => {
    const rows = 25_000;
    const lines = Array.from({ length: rows }, (_, i) => `Row ${i},${i},${i % 2 === 0}`);
    const content = `name,number,even\n${lines.join('\n')}`;
    const done = await importAll(by, workspace.id, { source_type: 'csv', content });
    expect(done).toMatchObject({ status: 'completed', stats: { tables: 1, rows } });
    const table = `/resources/${done.root_resource_id}/content`;
    for (const at of [0, 9_999, 10_000, rows - 1]) {
      const { data } = await by.get<TableContent>(`${table}?limit=1&offset=${Math.min(at, 9_999)}`);
      expect(data.row_count).toBe(rows);
      const filter = JSON.stringify({ and: [{ column: 'c2', op: 'eq', value: at }] });
      const found = await by.get<TableContent>(`${table}?filter=${encodeURIComponent(filter)}`);
      expect(found.data.rows.map(({ cells }) => Object.values(cells))).toEqual([[`Row ${at}`, at, at % 2 === 0]]);
    }
  });

  test('of an archive imports all rows of a large table as well, by their ids', async () => {
    const from = (await by.post<Workspace>('/workspaces', { name: 'From' })).data;
    const content = `name,number\n${Array.from({ length: 20_001 }, (_, i) => `Row ${i},${i}`).join('\n')}`;
    const table = await importAll(by, from.id, { source_type: 'csv', content });
    const { download_url: url } = await exported(by, from.id);
    const bytes = Buffer.from(await (await fetch(url ?? '')).arrayBuffer());
    const to = (await by.post<Workspace>('/workspaces', { name: 'To' })).data;
    const { data } = await by.post<Import>(`/workspaces/${to.id}/imports`, { source_type: 'native_zip', upload: true });
    await putUpload(data, bytes);
    expect(await finished(by, data.id)).toMatchObject({ status: 'completed', stats: { rows: 20_001 } });
    const [item] = await itemsOf(by, data.id);
    const last = async (id: string | null | undefined) => {
      const sort = encodeURIComponent(JSON.stringify([{ column: 'c2', direction: 'desc' }]));
      const found = await by.get<TableContent>(`/resources/${id}/content?limit=2&sort=${sort}`);
      return [found.data.row_count, found.data.version, found.data.rows.map((row) => [row.id, row.cells])];
    };
    expect(await last(item?.resource_id)).toEqual(await last(table.root_resource_id));
  });

  test('of an archived workspace can be read, and neither retried nor removed', async () => {
    const { data: place } = await by.post<Workspace>('/workspaces', { name: 'Frozen' });
    const done = await importAll(by, place.id, { source_type: 'markdown_zip', ...inline(Buffer.from('none')) });
    await by.post(`/workspaces/${place.id}/archive`, {});
    expect((await by.get<Import>(`/imports/${done.id}`)).data.status).toBe('failed');
    const answers = [await by.post(`/imports/${done.id}/retry`, {}), await by.del(`/imports/${done.id}`)];
    expect(answers.map(({ status, error }) => [status, error.code])).toEqual([
      [409, 'workspace_archived'],
      [409, 'workspace_archived'],
    ]);
    await by.patch(`/workspaces/${place.id}`, { state: 'active' });
    expect((await by.post(`/imports/${done.id}/retry`, {})).status).toBe(202);
  });

  test('can be split into its sections only before its items are known', async () => {
    const page = '<h1>One</h1><p>x</p><h1>Two</h1><p>y</p>';
    const bytes = archive({ 'a.html': page, 'b.html': [Buffer.from('<p>damaged page</p>'), { level: 0 }] });
    bytes.write('D', bytes.indexOf('damaged page'));
    const done = await importAll(by, workspace.id, { source_type: 'html_zip', ...inline(bytes) });
    expect(done).toMatchObject({ status: 'completed_with_errors', stats: { documents: 1 } });
    const late = await by.post(`/imports/${done.id}/retry`, { options: { split_headings: true } });
    expect([late.status, late.error.param]).toEqual([400, 'options.split_headings']);
    const split = await importAll(by, workspace.id, {
      source_type: 'html_zip',
      ...inline(bytes),
      options: { split_headings: true },
    });
    await by.post(`/imports/${split.id}/retry`, { options: { keep_dates: true } });
    const again = await finished(by, split.id);
    expect([again.attempt, again.stats]).toEqual([2, split.stats]);
    expect(again).toMatchObject({ options: { split_headings: true, keep_dates: true } });
  });

  test('has a list of its items, possibly empty, and the time of the next poll', async () => {
    const waiting = await begin({ source_type: 'markdown', upload: true });
    const active = await by.get<Import>(`/imports/${waiting.data.id}?include=items`);
    expect([active.data.items, active.page.total, active.headers.get('retry-after')]).toEqual([[], 0, '1']);
    const done = await importAll(by, workspace.id, { source_type: 'markdown', content: 'x' });
    const over = await by.get<Import>(`/imports/${done.id}?include=items&status=failed`);
    expect([over.data.items, over.headers.get('retry-after')]).toEqual([[], null]);
    expect((await by.get<Import>(`/imports/${done.id}`)).data).not.toHaveProperty('items');
    const some = await by.get<Import>(`/imports/${done.id}?fields=id,status`);
    expect(some.data).toEqual({ id: done.id, status: done.status });
    const paths = await by.get<Import>(`/imports/${done.id}?include=items&fields=path`);
    expect([paths.data.id, paths.data.items?.map(Object.keys)]).toEqual([done.id, [['path']]]);
  });

  test('of another person is visible to administrators only', async () => {
    const other: Person = await signUp(system, 'Other');
    const { user } = (await other.get<Me>('/me')).data;
    const member = { user_id: user.id, role: 'editor' };
    await by.post(`/workspaces/${workspace.id}/members`, member);
    const mine = await importAll(by, workspace.id, { source_type: 'markdown', content: 'mine' });
    expect((await other.get(`/imports/${mine.id}`)).status).toBe(404);
    expect((await other.get(`/resources/${mine.root_resource_id}`)).status).toBe(404);
    const theirs = await importAll(other, workspace.id, { source_type: 'markdown', content: 'theirs' });
    expect((await by.get<Import>(`/imports/${theirs.id}`)).data.status).toBe('completed');
    const { data } = await other.get<List<Import>>(imports);
    expect(data.items.map(({ id }) => id)).toEqual([theirs.id]);
  });

  test('reports all errors at once, and stores nothing', async () => {
    const before = (await by.get(imports)).page.total;
    const faulty = async (body: object) => {
      const { status, error } = await begin(body);
      const details = Array.isArray(error.details) ? error.details : [error];
      return [status, ...(details as { param: string; code: string }[]).map(({ param, code }) => `${param} ${code}`)];
    };
    expect(await faulty({ source_type: 'markdown', content: 'x', url: 'http://10.0.0.1/', size_bytes: 1 })).toEqual([
      400,
      'url ambiguous_target',
      'size_bytes invalid_value',
    ]);
    expect(await faulty({ source_type: 'url' })).toEqual([400, 'source_url missing_field']);
    expect(await faulty({ source_type: 'markdown' })).toEqual([400, 'file_id missing_field']);
    expect(await faulty({ source_type: 'markdown', url: 'https://127.0.0.1/a.md' })).toEqual([
      400,
      'url url_not_allowed',
    ]);
    expect(await faulty({ source_type: 'connection', connection_id: randomUUID() })).toEqual([
      400,
      'source_type unsupported_format',
    ]);
    expect(await faulty({ source_type: 'docx', content: 'x' })).toEqual([400, 'content unsupported_format']);
    expect(await faulty({ source_type: 'markdown', content_base64: '*' })).toEqual([
      400,
      'content_base64 invalid_value',
    ]);
    expect(await faulty({ source_type: 'nothing', content: 'x', oh: 1 })).toEqual([
      400,
      expect.stringContaining('invalid_value'),
      'oh unknown_field',
    ]);
    const options = { csv: { encoding: 'klingon', delimiter: '"' }, user_map: { a: 1 } };
    expect(await faulty({ source_type: 'markdown', content: 'x', options })).toEqual([
      400,
      'options.csv.encoding invalid_value',
      'options.csv.delimiter invalid_value',
      'options.user_map.a invalid_type',
    ]);
    expect((await by.get(imports)).page.total).toBe(before);
    const done = await importAll(by, workspace.id, { source_type: 'markdown', content: 'x' });
    const retry = await by.post(`/imports/${done.id}/retry`, { again: true });
    expect([retry.status, retry.error.code]).toEqual([400, 'unknown_field']);
  });
});

test('a key without the scope cannot start an import', async () => {
  const { key } = await newKey(by, ['import:read']);
  const { status, error } = await api(system, key).post(imports, { source_type: 'markdown', content: 'x' });
  expect([status, error.code]).toEqual([403, 'insufficient_scope']);
});
