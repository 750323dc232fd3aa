import type { Caller } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { derivedId, newId } from '@commonplace/kit/id';
import { createLog } from '@commonplace/kit/log';
import type { Client } from '@commonplace/kit/rpc';
import { countTurns } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ReadTreeRequest, type TreeExportService } from '@commonplace/proto/resources/v1/tree_export_service.js';
import { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Grant, grantId } from '../src/domain/grant.js';
import type { Node } from '../src/domain/node.js';
import { jobCollection } from '../src/nodes/jobs.js';
import { PENDING_MAX_AGE_MS } from '../src/nodes/pending.js';
import { nodeCollection } from '../src/nodes/records.js';
import { grantCollection } from '../src/sharing/records.js';
import { createEmails } from '../src/transfer/export/people.js';
import { type ArchiveTerms, growingEntry } from '../src/transfer/export/pieces.js';
import { readTree } from '../src/transfer/export/read-tree.js';
import { openWorld, type World } from './stage.js';

const SOON = '2999-01-01T00:00:00.000Z';
const LATER = '2999-02-01T00:00:00.000Z';

let world: World;
let exports: Client<TreeExportService>;
let admin: Caller;

beforeAll(async () => {
  world = await openWorld();
  exports = world.stage.host.client(contracts.treeExports);
  admin = world.member(WorkspaceRole.ADMIN);
});

afterAll(() => world.stage.close());

function requestFor(workspaceId: string, fields: Partial<ReadTreeRequest> = {}): ReadTreeRequest {
  const include = { files: false, comments: false, snapshots: false, permissions: true };
  return ReadTreeRequest.fromPartial({ workspaceId, format: 'native', include, maxBytes: 1e9, ...fields });
}

/** Returns the entries of a workspace's archive, by path. */
async function archiveOf(workspaceId: string, format = 'native', snapshots = false): Promise<Map<string, string>> {
  const { include } = requestFor(workspaceId);
  const request = requestFor(workspaceId, { format, include: { ...include, snapshots } as never });
  const entries = new Map<string, string>();
  for await (const { path, data } of exports.readTree(request, await world.stage.as(admin))) {
    if (path !== '') entries.set(path, (entries.get(path) ?? '') + data.toString());
  }
  return entries;
}

/** Writes a grant on a node as it is stored, in the place of one that takes a sequence of requests. */
async function storeGrant(resourceId: string, fields: Pick<Grant, 'principal' | 'role' | 'expiresAt' | 'later'>) {
  const { store } = world.stage.own;
  const nodes = await store.collection(nodeCollection);
  const node = (await nodes.get(resourceId)) as Node;
  const work = store.begin();
  const { tenant, workspaceId } = node;
  const grantedBy = { type: 'user', id: admin.userId, name: 'A' } as const;
  const record = { id: grantId(resourceId, fields.principal), tenant, workspaceId, resourceId, ...fields };
  work.insert(await store.collection(grantCollection), { ...record, grantedBy, createdAt: new Date().toISOString() });
  work.replace(nodes, node, { ...node, principals: [...node.principals, fields.principal] });
  await work.commit();
}

test('a grant with a later lesser role keeps all of its terms through export and import', async () => {
  const { id } = await world.create(admin, { name: 'Shared' });
  const principal = `org:${world.orgId}`;
  const later = [{ role: 'commenter', expiresAt: LATER }, { role: 'viewer' }] as const;
  await storeGrant(id, { principal, role: 'editor', expiresAt: SOON, later });

  const entries = await archiveOf(world.workspaceId);
  const { permissions } = JSON.parse(entries.get(`resources/${id}.json`) as string);
  expect(permissions).toMatchObject([
    {
      role: 'editor',
      expires_at: SOON,
      later: [
        { role: 'commenter', expires_at: LATER },
        { role: 'viewer', expires_at: null },
      ],
    },
  ]);

  const copy = derivedId('copy of Shared');
  const contentJson = Buffer.from(JSON.stringify({ archive: { permissions } }));
  const item = ImportItem.fromPartial({ id: copy, type: ResourceType.FOLDER, name: 'Copy', contentJson });
  const imports = world.stage.host.client(contracts.treeImports);
  const request = { workspaceId: world.otherWorkspaceId, items: [item], import: { id: newId(), name: 'I' } };
  await imports.putItems(request, await world.stage.as(admin));
  const grants = await world.stage.own.store.collection(grantCollection);
  expect(await grants.get(grantId(copy, principal))).toMatchObject({ role: 'editor', expiresAt: SOON, later });
});

test('includes what a pending job moves into the workspace, and excludes what it moves away', async () => {
  const top = await world.create(admin, { name: 'Top', workspaceId: world.otherWorkspaceId });
  const child = await world.create(admin, { name: 'Child', parentId: top.id });
  const { store } = world.stage.own;
  const nodes = await store.collection(nodeCollection);
  const head = (await nodes.get(top.id)) as Node;
  const work = store.begin();
  work.insert(await store.collection(jobCollection), {
    id: newId(),
    tenant: head.tenant,
    workspaceIds: [world.otherWorkspaceId, world.workspaceId],
    headId: top.id,
    kind: 'place',
    actor: { type: 'system', id: 'test', name: 'Test' },
    createdAt: new Date().toISOString(),
    leaseUntil: SOON,
  });
  const { workspaceId } = world;
  work.replace(nodes, head, { ...head, workspaceId, parentKey: workspaceId, boundary: workspaceId });
  await work.commit();
  await new Promise((resolve) => setTimeout(resolve, 2 * PENDING_MAX_AGE_MS));

  const paths = [`resources/${top.id}.json`, `resources/${child.id}.json`];
  const [target, source] = [await archiveOf(workspaceId), await archiveOf(world.otherWorkspaceId)];
  expect(paths.map((path) => target.has(path))).toEqual([true, true]);
  expect(paths.map((path) => source.has(path))).toEqual([false, false]);
});

test('names what was trashed since the export was requested, and only that', async () => {
  const earlier = await world.create(admin, { name: 'Earlier' });
  const top = await world.create(admin, { name: 'Top' });
  const child = await world.create(admin, { name: 'Child', parentId: top.id });
  await world.remove(admin, earlier.id);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const since = new Date().toISOString();
  await world.remove(admin, top.id);

  const outcomes: Record<string, string> = {};
  let fault = '';
  for await (const piece of exports.readTree(requestFor(world.workspaceId, { since }), await world.stage.as(admin))) {
    fault = piece.fault === undefined ? fault : `${piece.fault.code}: ${piece.fault.message}`;
    if (piece.done === '') continue;
    outcomes[piece.done] = fault;
    fault = '';
  }
  const why = (name: string) => `trashed: folder "${name}" was moved to the trash after the export was requested.`;
  expect(outcomes).toMatchObject({ [top.id]: why('Top'), [child.id]: why('Child') });
  expect(outcomes).not.toHaveProperty(earlier.id);
  expect(Object.values(outcomes).filter((text) => text !== '')).toHaveLength(2);
});

test('looks values up in tables of the workspace, and in no others that only the exporter may read', async () => {
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const type = ResourceType.TABLE;
  const target = async (workspaceId: string, name: string) => {
    const rows = json([{ id: 'row', cells: { name } }]);
    return (await world.create(admin, { type, workspaceId, columns: json([{ id: 'name', name: 'Name' }]), rows })).id;
  };
  const follow = (id: string, tableId: string) => [
    { id, name: id, type: 'link', options: { target_table_id: tableId } },
    { id: `of_${id}`, name: id, type: 'lookup', options: { link_column_id: id, target_column_id: 'name' } },
  ];
  const { workspaceId, otherWorkspaceId } = world;
  const near = follow('near', await target(workspaceId, 'Nearby'));
  const far = follow('far', await target(otherWorkspaceId, 'Faraway'));
  const rows = json([{ id: 'r', cells: { near: ['row'], far: ['row'] } }]);
  const { id } = await world.create(admin, { type, workspaceId, columns: json([...near, ...far]), rows });

  const entries = await archiveOf(workspaceId);
  const { cells } = JSON.parse(entries.get(`content/${id}.json`) ?? '').rows[0];
  const closed = { error: 'The linked table is not available.' };
  expect(cells).toMatchObject({ near: ['row'], of_near: ['Nearby'], far: ['row'], of_far: closed });
  expect(entries.get(`content/${id}.csv`)).toContain('Nearby');
  expect([...entries].filter(([, text]) => text.includes('Faraway'))).toEqual([]);
});

test.each(['markdown', 'html'])('links in %s lead to entries of the archive, whatever they are of', async (format) => {
  const { workspaceId } = world;
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const artifact = (artifactType: string) =>
    world.create(admin, {
      type: ResourceType.ARTIFACT,
      workspaceId,
      content: json({ artifact_type: artifactType, source: 'x' }),
    });
  const table = { type: ResourceType.TABLE, workspaceId, columns: json([{ name: 'A' }]), rows: json([]) };
  const targets = [await world.create(admin, table), await artifact('mermaid'), await artifact('code')];
  const text = targets.map(({ id }) => `[to](resource:${id})`).join(' ');
  const page = await world.create(admin, { type: ResourceType.DOCUMENT, workspaceId, content: json(text) });

  const entries = await archiveOf(workspaceId, format);
  const ofPage = [...entries.keys()].find((path) => path.includes(page.id.slice(-8))) ?? '';
  for (const path of [ofPage, ...(format === 'html' ? ['index.html'] : [])]) {
    const links = [...(entries.get(path) ?? '').matchAll(/href="([^"]+)"|\]\(([^)]+)\)/g)];
    expect(links.length).toBeGreaterThanOrEqual(targets.length);
    for (const [, quoted, plain] of links) expect([...entries.keys()]).toContain(decodeURI(quoted ?? plain ?? ''));
  }
});

test('no entry of a readable archive is hidden by a dot before its name', async () => {
  const { workspaceId } = world;
  const page = await world.create(admin, { type: ResourceType.DOCUMENT, workspaceId, name: ' ..env' });
  const paths = [...(await archiveOf(workspaceId, 'markdown')).keys()];
  expect(paths).toContain(`env ${page.id.slice(-8)}.md`);
});

test('cells in HTML keep their line breaks', async () => {
  const { workspaceId } = world;
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const rows = json([{ A: 'one\n<two>' }]);
  const type = ResourceType.TABLE;
  const { id } = await world.create(admin, { type, workspaceId, name: 'T', columns: json([{ name: 'A' }]), rows });
  const page = (await archiveOf(workspaceId, 'html')).get(`T ${id.slice(-8)}.html`);
  expect(page).toContain('<td>one<br />&lt;two&gt;</td>');
});

test('an export of small documents, and the list of a folder with many children, let other requests run', async () => {
  const { id: parentId } = await world.create(admin, { name: 'Many', type: ResourceType.FOLDER });
  const { store } = world.stage.own;
  const nodes = await store.collection(nodeCollection);
  const work = store.begin();
  const names = Array.from({ length: 450 }, (_, i) => `Child ${String(i).padStart(3, '0')}`);
  const folder = (await nodes.get(parentId)) as Node;
  for (const name of names) {
    const about = { id: newId(), name, parentKey: parentId, ancestors: [parentId], position: name };
    work.insert(nodes, { ...folder, ...about });
  }
  await work.commit();
  let entries = new Map<string, string>();
  const turns = await countTurns(async () => {
    entries = await archiveOf(world.workspaceId, 'html');
  });
  const [list = ''] = [...entries].flatMap(([path, text]) => (/^Many [^/]+\/index.html$/.test(path) ? text : []));
  expect([...list.matchAll(/>(Child \d+)</g)].map(([, name]) => name)).toEqual(names);
  expect(turns).toBeGreaterThan(20);
});

test('a snapshot of a large document is indented like other JSON, and sent piece by piece', async () => {
  const text = `${`${'some "words" 🙂 \\ '.repeat(100)}end\n\n`.repeat(600)}end`;
  const content = Buffer.from(JSON.stringify(text));
  const { id } = await world.create(admin, { type: ResourceType.DOCUMENT, name: 'Long', content });
  const request = { resourceId: id, name: 'First', description: undefined };
  const snapshot = await world.snapshots.createSnapshot(request, await world.stage.as(admin));

  const path = `snapshots/${id}/${snapshot.id}.json`;
  const written = (await archiveOf(world.workspaceId, 'native', true)).get(path) ?? '';
  const parsed = JSON.parse(written);
  expect(parsed).toMatchObject({ id: snapshot.id, name: 'First', content: { format: 'markdown', text } });
  expect(written === `${JSON.stringify(parsed, null, 2)}\n`).toBe(true);
  const include = { ...requestFor(world.workspaceId).include, snapshots: true } as never;
  let pieces = 0;
  const asked = requestFor(world.workspaceId, { include });
  for await (const piece of exports.readTree(asked, await world.stage.as(admin))) if (piece.path === path) pieces++;
  expect(pieces).toBeGreaterThan(1);
});

describe('what fails while a resource is read', () => {
  const people = { createdBy: { id: 'ada' }, updatedBy: { id: 'ada' }, principals: [] };
  const node = { id: newId(), type: 'folder', name: 'N', state: 'active', workspaceId: 'w', ...people };

  /** Reads a tree of one folder, whose people can't be looked up because of an error. */
  async function read(error: Error) {
    const parts = {
      tree: { unsettled: async () => [], nodes: { find: async () => [node] }, resolve: async (page: unknown) => page },
      policy: { accessToAll: async () => [{}], opensAll: () => {} },
      kinds: {},
      log: createLog('silent'),
    };
    const emails = { load: () => Promise.reject(error), of: () => undefined };
    const context = { signal: new AbortController().signal };
    const terms = { format: 'native', include: {}, emails, context } as unknown as ArchiveTerms;
    const request = ReadTreeRequest.fromPartial({ workspaceId: 'w', maxBytes: 1e9 });
    const faults: string[] = [];
    for await (const { fault } of readTree(parts as never, request, terms)) if (fault) faults.push(fault.code);
    return faults;
  }

  test.each(['UNAVAILABLE', 'UNAUTHENTICATED'] as const)(
    'ends the read with %s, so that it is retried',
    async (code) => {
      await expect(read(new AppError(code, 'some_code', 'Some text.'))).rejects.toMatchObject({ code });
    },
  );

  test('is a fault of the resource otherwise', async () => {
    expect(await read(new Error('damaged'))).toEqual(['unreadable']);
  });
});

test('an entry that is produced piece by piece lets other requests run', async () => {
  async function* texts() {
    for (let i = 0; i < 30; i++) {
      const until = performance.now() + 2;
      while (performance.now() < until);
      yield 'row';
    }
  }
  const pieces: string[] = [];
  const turns = await countTurns(async () => {
    for await (const { data } of growingEntry('table.csv', texts())) pieces.push(String(data));
  });
  expect(pieces).toEqual(['row'.repeat(30)]);
  expect(turns).toBeGreaterThan(20);
});

test('an export that outlasts the token of its caller still has the addresses of people', async () => {
  const own = { metadata: { requestId: 'own' }, deadline: 0 };
  const asked: unknown[] = [];
  const users = {
    findUsers: async ({ ids }: { ids: string[] }, options: unknown) => {
      asked.push(options);
      return { users: ids.map((id) => ({ id, email: `${id}@example.com` })) };
    },
  };
  const parts = { peers: { users }, systemCall: () => own } as unknown as Parameters<typeof createEmails>[0];
  const emails = createEmails(parts);
  await emails.load(['a', 'a', '']);
  expect([emails.of('a'), asked]).toEqual(['a@example.com', [own]]);
});
