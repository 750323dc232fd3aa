import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { unzipSync } from 'fflate';
import { type Entries, entriesOf, exported } from '../src/archives.js';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type NewFile, newFile, putBytes, type Upload } from '../src/files.js';
import { finished, importAll, itemsOf, putUpload } from '../src/imports.js';
import { destinationsOf, masked, pathOf } from '../src/link-check.js';
import type { Content, Import, ImportItem, Resource, SearchAnswer, Workspace } from '../src/records.js';
import { treeIn } from '../src/same-archive.js';
import { standingSystem } from '../src/standing.js';
import { type System, testData } from '../src/system.js';
import { forEach, walk } from '../src/walk.js';

const file = join(testData() ?? '', 'handbook.zip');
const isThere = existsSync(file);
if (!isThere) console.log('handbook.zip is not there (COMMONPLACE_TEST_DATA): its import is skipped.');

interface WithMetadata {
  readonly metadata: { readonly title?: string };
}

/** Maximum number of concurrent requests. */
const WIDTH = 16;
const IMPORT_MS = 240_000;
const decode = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('utf8');

(isThere ? describe : describe.skip)('a handbook of 883 pages in an archive', () => {
  const zip = isThere ? readFileSync(file) : Buffer.alloc(0);
  const entries = isThere ? unzipSync(zip) : {};
  const paths = Object.keys(entries).filter((path) => !path.endsWith('/'));
  const pages = paths.filter((path) => path.endsWith('.md'));
  const images = paths.filter((path) => /\.(png|svg|jpe?g|gif)$/.test(path));
  const folders = new Set(
    paths.flatMap((path) =>
      path
        .split('/')
        .slice(0, -1)
        .map((_, i, all) => all.slice(0, i + 1).join('/')),
    ),
  );
  let system: System;
  let by: Api;
  let workspace: Workspace;
  let done: Import;
  let items: Map<string, ImportItem>;

  beforeAll(async () => {
    system = await standingSystem();
    by = api(system, system.owner.apiKey);
    workspace = (await by.post<Workspace>('/workspaces', { name: 'Handbook' })).data;
    const body = { source_type: 'markdown_zip', upload: true, name: 'Handbook', size_bytes: zip.length };
    const { data } = await by.post<Import>(`/workspaces/${workspace.id}/imports`, body);
    expect(data.status).toBe('pending_upload');
    await putUpload(data, zip);
    done = await finished(by, data.id, IMPORT_MS);
    items = new Map((await itemsOf(by, done.id)).map((item) => [item.path, item]));
  }, IMPORT_MS + 60_000);

  /** Returns the target of a link as a reader of the files finds it: a file, one with `.md`, or a folder’s page. */
  function targetOf(from: string, href: string): string | undefined {
    const path = pathOf(from, href);
    if (path === undefined) return undefined;
    const forms = [`${path}/index.md`, path, `${path}.md`];
    return forms.find((form) => entries[form] !== undefined) ?? (folders.has(path) ? path : undefined);
  }

  test('is imported completely: pages, images, and every other file that a page links to', async () => {
    const linked = new Set(
      pages.flatMap((page) => destinationsOf(decode(entries[page])).flatMap(({ href }) => targetOf(page, href) ?? [])),
    );
    const others = paths.filter((path) => !path.endsWith('.md') && !images.includes(path));
    expect([pages.length, images.length]).toEqual([883, 77]);
    expect([done.status, done.error]).toEqual(['completed', null]);
    expect(done.stats).toMatchObject({ documents: 883, files: 77 + others.filter((path) => linked.has(path)).length });
    for (const path of others)
      expect([path, items.get(path)?.status]).toEqual([path, linked.has(path) ? 'created' : 'skipped']);
    for (const path of [...pages, ...images]) expect([path, items.get(path)?.status]).toEqual([path, 'created']);
  });

  test('has the same tree as the archive', async () => {
    const list = `/workspaces/${workspace.id}/resources?include=path`;
    const found = await walk<Resource>(by, list, 'cursor', 200);
    const byId = new Map(found.items.map((resource) => [resource.id, resource]));
    const created = [...items.values()].filter(({ status }) => status === 'created');
    expect(byId.size).toBe(created.length + 1);
    for (const { path, resource_id: id } of created) {
      const resource = byId.get(id ?? '');
      const above = path.split('/').slice(0, -1);
      expect([path, resource?.path?.map(({ name }) => name)]).toEqual([path, ['Handbook', ...above]]);
    }
    expect(byId.get(done.root_resource_id ?? '')).toMatchObject({ name: 'Handbook', access_mode: 'restricted' });
  });

  test('has every link with a target rewritten, and no other byte changed', async () => {
    const broken: string[] = [];
    let redirected = 0;
    const wrong = await forEach(pages, WIDTH, async (page) => {
      const before = decode(entries[page]);
      const { data } = await by.get<Content>(`/resources/${items.get(page)?.resource_id}/content`);
      const expected = destinationsOf(before).map(({ href }) => {
        const target = targetOf(page, href);
        if (target === undefined && pathOf(page, href) !== undefined) broken.push(`${page} ${href}`);
        if (target === undefined) return href;
        redirected++;
        const hash = href.indexOf('#');
        return `resource:${items.get(target)?.resource_id}${hash < 0 ? '' : href.slice(hash)}`;
      });
      const found = destinationsOf(data.content).map(({ href }) => href);
      const same = JSON.stringify(found) === JSON.stringify(expected);
      const isLink = (href: string) => href.startsWith('resource:') || targetOf(page, href) !== undefined;
      const rest = masked(data.content, isLink) === masked(before, isLink);
      const differing = expected.flatMap((href, i) => (href === found[i] ? [] : [`${href} is ${found[i]}`]));
      return same && rest ? [] : [`${page}: ${rest ? '' : 'another text; '}${differing.slice(0, 3).join(', ')}`];
    });
    expect(wrong.flat()).toEqual([]);
    expect(redirected).toBeGreaterThan(3000);
    expect(done.stats.links_rewritten).toBeGreaterThanOrEqual(redirected);
    const reported = [...(done.report ?? '').matchAll(/^- `([^`]+)`: `([^`]+)`$/gm)].map(
      ([, page, href]) => `${page} ${href}`,
    );
    expect(reported.sort()).toEqual([...new Set(broken)].sort());
    expect(done.stats.links_broken).toBe(broken.length);
  }, 120_000);

  test('keeps front matter as metadata', async () => {
    const withMatter = pages.filter((page) => decode(entries[page]).startsWith('---\n'));
    expect(withMatter.length).toBeGreaterThan(5);
    const wrong = await forEach(withMatter, WIDTH, async (page) => {
      const title = /^title:\s*(.+)$/m.exec(decode(entries[page]).split('\n---')[0] ?? '')?.[1];
      const { data } = await by.get<WithMetadata>(`/resources/${items.get(page)?.resource_id}`);
      const bare = title?.trim().replace(/^(['"])(.*)\1$/, '$2');
      return bare === undefined || data.metadata.title === bare ? [] : [`${page}: ${bare}`];
    });
    expect(wrong.flat()).toEqual([]);
  });

  test('is found by its words', async () => {
    await eventually(async () => {
      const body = { query: 'paring down tech debt', mode: 'keyword', workspace_ids: [workspace.id], limit: 3 };
      const { data } = await by.post<SearchAnswer>('/search', body);
      const id = items.get('content/departments/cloud/working-agreements.md')?.resource_id;
      expect(data.items.map(({ resource }) => resource.id)).toContain(id);
    }, 30_000);
  });

  test(
    'is exported as it was imported',
    async () => {
      const first = await archiveOf(by, workspace);
      const copy = await workspaceOf(first.bytes);
      const again = await archiveOf(by, copy);
      const before = treeIn(first.entries);
      // The archive's own root is below that of the import.
      const after = treeIn(again.entries, 'Handbook');
      expect(before.size).toBeGreaterThan(883);
      expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
      const different = [...before].filter(([path, one]) => JSON.stringify(after.get(path)) !== JSON.stringify(one));
      expect(different.map(([path, one]) => [path, ...differences(one, after.get(path))])).toEqual([]);
    },
    2 * IMPORT_MS,
  );

  /** A workspace into which an archive was imported, from a file of another. */
  async function workspaceOf(archive: Buffer): Promise<Workspace> {
    const fields = { name: 'again.zip', workspace_id: workspace.id, size_bytes: archive.length };
    const { resource, upload } = (await newFile(by, fields)).data;
    expect((await putBytes(upload as Upload, archive)).ok).toBe(true);
    const copy = (await by.post<Workspace>('/workspaces', { name: 'Again' })).data;
    // The items name the first import as their author.
    const body = { source_type: 'native_zip', file_id: resource.id, name: 'Handbook' };
    // A bucket sends no notification of uploaded bytes.
    const begun = await eventually(async () => (await by.post<Import>(`/workspaces/${copy.id}/imports`, body)).data);
    const { status, error } = await finished(by, begun.id, IMPORT_MS);
    expect([status, error]).toEqual([expect.stringMatching(/^completed/), null]);
    return copy;
  }

  test(
    'can be imported from a file as well',
    async () => {
      const { data } = await by.post<NewFile>('/files', {
        name: 'handbook.zip',
        workspace_id: workspace.id,
        size_bytes: zip.length,
      });
      await fetch(data.upload?.url ?? '', { method: 'PUT', body: zip as Uint8Array<ArrayBuffer> });
      // A bucket sends no notification of uploaded bytes: it is polled every two seconds.
      await eventually(async () => {
        const { status } = await by.get(`/resources/${data.resource.id}/file`);
        expect(status).toBe(200);
      }, 30_000);
      const body = { source_type: 'markdown_zip', file_id: data.resource.id };
      const again = await importAll(by, workspace.id, body, IMPORT_MS);
      expect(again).toMatchObject({ name: 'handbook', status: 'completed', stats: done.stats });
    },
    IMPORT_MS + 10_000,
  );
});

async function archiveOf(by: Api, workspace: Workspace): Promise<{ bytes: Buffer; entries: Entries }> {
  const done = await exported(by, workspace.id);
  expect(done.manifest?.errors).toEqual([]);
  const bytes = Buffer.from(await (await fetch(done.download_url ?? '')).arrayBuffer());
  return { bytes, entries: await entriesOf(done) };
}

/** Returns the fields in which two records differ, with both values. */
function differences(one: unknown, other: unknown): unknown[] {
  const [a, b] = [one, other] as [Record<string, unknown>, Record<string, unknown>];
  return Object.keys(a).flatMap((key) => {
    const [before, after] = [JSON.stringify(a[key]) ?? '', JSON.stringify(b[key]) ?? ''];
    const at = [...before].findIndex((char, i) => char !== after[i]);
    return before === after ? [] : [[key, before.slice(at - 60, at + 60), after.slice(at - 60, at + 60)]];
  });
}
