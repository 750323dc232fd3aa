import type { Caller } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import type { Client } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import { GetContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { AccessMode, type Resource, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ListSnapshotsRequest } from '@commonplace/proto/resources/v1/snapshot_service.js';
import {
  ImportItem,
  type PutItemOutcome,
  type TreeImportService,
} from '@commonplace/proto/resources/v1/tree_import_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_NAMED_SNAPSHOTS } from '../src/config.js';
import { snapshotCollection } from '../src/snapshots/records.js';
import { openWorld, type World } from './stage.js';

let world: World;
let imports: Client<TreeImportService>;
let editor: Caller;
let admin: Caller;

beforeAll(async () => {
  world = await openWorld();
  imports = world.stage.host.client(contracts.treeImports);
  editor = world.member(WorkspaceRole.EDITOR);
  admin = world.member(WorkspaceRole.ADMIN);
});

afterAll(() => world.stage.close());

const label = { id: derivedId('import'), name: 'Handbook' };
const idOf = (path: string) => derivedId(`test:${path}`);

function item(path: string, fields: Partial<ImportItem> = {}): ImportItem {
  const base = { id: idOf(path), type: ResourceType.DOCUMENT, name: path, accessMode: AccessMode.INHERIT };
  return ImportItem.fromPartial({ ...base, ...fields });
}

async function put(items: ImportItem[], caller = editor, workspaceId = world.workspaceId): Promise<PutItemOutcome[]> {
  const request = { workspaceId, items, import: label };
  return (await imports.putItems(request, await world.stage.as(caller))).outcomes;
}

const statuses = (outcomes: readonly PutItemOutcome[]) => outcomes.map(({ status, code }) => code || status);
const get = (path: string, caller = editor): Promise<Resource> => world.get(caller, idOf(path));

describe('items of an import', () => {
  test('are created in order, parents before children, and once', async () => {
    const items = [
      item('a', { type: ResourceType.FOLDER }),
      item('a/one', { parentId: idOf('a'), markdown: '# One\n' }),
      item('a/two', { parentId: idOf('a/one'), markdown: 'Two' }),
      item('a/table', {
        parentId: idOf('a'),
        type: ResourceType.TABLE,
        contentJson: Buffer.from('{"columns":[{"name":"N"}],"rows":[["x"]]}'),
      }),
    ];
    expect(statuses(await put(items))).toEqual(['created', 'created', 'created', 'created']);
    expect(statuses(await put(items))).toEqual(['present', 'present', 'present', 'present']);
    const { names, total } = await world.list(editor, { parentId: idOf('a') });
    expect([names, total]).toEqual([['a/one', 'a/table'], 2]);
    const two = await get('a/two');
    expect(two).toMatchObject({ parentId: idOf('a/one'), createdBy: { type: ActorType.IMPORT, ...label } });
    expect(two.source).toMatchObject({ type: 'import', importId: label.id });
    const content = await world.content.getContent(
      GetContentRequest.fromPartial({ resourceId: idOf('a/one') }),
      await world.stage.as(editor),
    );
    expect(content.content.toString()).toBe('"# One\\n"');
  });

  test('are added below one that the same call updates', async () => {
    const folder = { type: ResourceType.FOLDER };
    await put([item('u', folder), item('u/leaf', { parentId: idOf('u') }), item('u/page', { parentId: idOf('u') })]);
    await put([item('u/page/old', { parentId: idOf('u/page') })]);
    const outcomes = await put([
      item('u', { ...folder, update: true, name: 'U' }),
      item('u/leaf', { update: true, markdown: 'Leaf' }),
      item('u/page', { update: true, markdown: 'Page' }),
      item('u/new', { parentId: idOf('u') }),
      item('u/leaf/new', { parentId: idOf('u/leaf') }),
      item('u/page/new', { parentId: idOf('u/page') }),
      item('u/page/bad', { parentId: idOf('u/page'), type: ResourceType.TABLE, contentJson: Buffer.from('[]') }),
    ]);
    expect(statuses(outcomes).slice(0, 6)).toEqual([...Array(3).fill('updated'), ...Array(3).fill('created')]);
    expect(outcomes[6]?.status).toBe('failed');
    const below = async (path: string) => (await world.list(editor, { parentId: idOf(path) })).names;
    expect(await below('u')).toEqual(['u/leaf', 'u/page', 'u/new']);
    expect(await below('u/leaf')).toEqual(['u/leaf/new']);
    expect(await below('u/page')).toEqual(['u/page/old', 'u/page/new']);
  });

  test('that are refused report why, with their descendants, and stop no others', async () => {
    const outcomes = await put([
      item('b/bad', { type: ResourceType.TABLE, contentJson: Buffer.from('{"columns":[],"rows":[]}') }),
      item('b/below', { parentId: idOf('b/bad') }),
      item('b/lost', { parentId: idOf('nowhere') }),
      item('b/good'),
    ]);
    expect(statuses(outcomes)).toEqual(['empty_columns', 'parent_failed', 'not_found', 'created']);
    expect(outcomes.map(({ retryable }) => retryable)).toEqual([false, true, false, false]);
    await expect(get('b/below')).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('are adjusted with a warning', async () => {
    const [long, big] = await put([
      item('c/long', { name: `a\nb${'x'.repeat(300)}`, tags: ['New', 'new', 'y'.repeat(70)] }),
      item('c/big', { name: '', metadataJson: Buffer.from(JSON.stringify({ a: 'x'.repeat(20_000) })) }),
    ]);
    expect([long?.warnings.length, big?.warnings.length]).toEqual([2, 1]);
    const { name, tags } = await get('c/long');
    expect([name.length, name.slice(0, 4), tags.length]).toEqual([255, 'a bx', 1]);
    expect((await get('c/big')).name).toBe('Untitled');
  });

  test('of a restricted container are closed to other editors, open to administrators', async () => {
    await put([
      item('d', { type: ResourceType.FOLDER, accessMode: AccessMode.RESTRICTED }),
      item('d/in', { parentId: idOf('d') }),
    ]);
    expect((await get('d/in')).access?.canManage).toBe(true);
    expect((await get('d/in', admin)).access?.canManage).toBe(true);
    await expect(get('d/in', world.member(WorkspaceRole.EDITOR))).rejects.toMatchObject({ reason: 'not_found' });
  });

  test('keep their dates, and another author if an administrator imports', async () => {
    const times = { createdAt: '2020-01-02T03:04:05.000Z', updatedAt: '2021-01-02T03:04:05.000Z' };
    const author = { type: ActorType.USER, id: admin.userId, name: 'A' };
    await put([item('e/mine', { ...times, createdBy: author })]);
    await put([item('e/theirs', { ...times, createdBy: { ...author, id: editor.userId } })], admin);
    expect(await get('e/mine')).toMatchObject({ ...times, createdBy: { type: ActorType.IMPORT } });
    expect(await get('e/theirs')).toMatchObject({ ...times, createdBy: { type: ActorType.USER, id: editor.userId } });
  });

  test('of an archive restore snapshots once, and only for resources of the import itself', async () => {
    const states = (...names: string[]) => {
      const snapshots = names.map((name) => ({
        id: `old-${name}`,
        name,
        reason: 'manual',
        content_version: 1,
        content: name === 'broken' ? { columns: 1 } : { columns: [{ id: 'a', name: 'A' }], rows: [[name]] },
      }));
      return Buffer.from(JSON.stringify({ archive: { snapshots } }));
    };
    const table = { type: ResourceType.TABLE };
    const first = Buffer.from(JSON.stringify({ archive: {}, columns: [{ id: 'a', name: 'A' }], rows: [['now']] }));
    await put([item('k/own', { ...table, contentJson: first })], admin);
    const piece = { ...table, keptStates: true, contentJson: states('one', 'broken', 'two') };
    const [outcome] = await put([item('k/own', piece)], admin);
    expect(outcome).toMatchObject({ status: 'present', warnings: ['A snapshot was left out: it cannot be read.'] });
    await put([item('k/own', piece)], admin);
    const snapshots = world.stage.host.client(contracts.snapshots);
    const list = async (path: string) => {
      const request = ListSnapshotsRequest.fromPartial({ resourceId: idOf(path) });
      return (await snapshots.listSnapshots(request, await world.stage.as(admin))).items.map(({ name }) => name).sort();
    };
    expect(await list('k/own')).toEqual(['one', 'two']);
    const other = { workspaceId: world.workspaceId, import: { ...label, id: derivedId('another import') } };
    const items = [item('k/own', { ...table, keptStates: true, contentJson: states('three') })];
    await imports.putItems({ ...other, items }, await world.stage.as(admin));
    expect(await list('k/own')).toEqual(['one', 'two']);
    expect(statuses(await put([item('k/none', piece)], admin))).toEqual(['not_found']);
  });

  test('of an archive may name any number of people, who are looked up in steps', async () => {
    const people = Array.from({ length: 2500 }, (_, at) => ({ name: `P${at}`, email: `p${at}@x.example` }));
    const row = { cells: { a: 'x' }, created_by: 1700, updated_by: 7 };
    const given = { archive: {}, columns: [{ id: 'a', name: 'A' }], rows: [row], people };
    const table = { type: ResourceType.TABLE, contentJson: Buffer.from(JSON.stringify(given)) };
    const asked = world.lookedUp.length;
    expect(statuses(await put([item('p/table', table)], admin))).toEqual(['created']);
    expect(world.lookedUp.slice(asked).map(({ length }) => length)).toEqual([...Array(12).fill(200), 100]);
  });

  test('of an archive bring no more manual snapshots than a resource may have, and none that stays for ever', async () => {
    const stateOf = (at: number, fields: object) => ({
      id: `many-${at}`,
      name: `${at}`,
      content_version: 1,
      content: { format: 'markdown', text: `${at}` },
      ...fields,
    });
    const piece = (from: number, count: number, fields: object) => {
      const snapshots = Array.from({ length: count }, (_, at) => stateOf(from + at, fields));
      return item('m/own', { keptStates: true, contentJson: Buffer.from(JSON.stringify({ archive: { snapshots } })) });
    };
    const warnings: string[][] = [];
    const restore = async (one: ImportItem) => warnings.push((await put([one], admin))[0]?.warnings ?? []);
    await put([item('m/own', { contentJson: Buffer.from(JSON.stringify({ archive: { content: {} } })) })], admin);
    await restore(piece(0, MAX_NAMED_SNAPSHOTS - 1, { reason: 'manual' }));
    await restore(piece(MAX_NAMED_SNAPSHOTS, 3, { reason: 'manual' }));
    await restore(piece(9000, 1, { reason: 'auto', expires_at: '9999-01-01T00:00:00Z' }));
    expect(warnings).toEqual([[], [expect.stringMatching(/^2 snapshots were left out: .* 500 manual/)], []]);

    const { store } = world.stage.own;
    const all = await store.collection(snapshotCollection);
    const resourceId = idOf('m/own');
    expect(await all.count({ resourceId, automatic: false })).toBe(MAX_NAMED_SNAPSHOTS);
    const [automatic] = await all.find({ where: { resourceId, automatic: true }, limit: 1 });
    expect(Date.parse(automatic?.expiresAt ?? '')).toBeLessThan(Date.now() + 31 * 24 * 60 * 60 * 1000);
  });

  test('replace the resource with their external id, or are imported without it', async () => {
    await put([item('f/old', { externalId: 'x1', markdown: 'old' })]);
    const question = { workspaceId: world.workspaceId, parentId: undefined, externalIds: ['x1', 'x2'] };
    const { resources } = await imports.findByExternalId(question, await world.stage.as(editor));
    expect(resources.map(({ resourceId }) => resourceId)).toEqual([idOf('f/old')]);
    const viewer = world.member(WorkspaceRole.VIEWER);
    expect((await imports.findByExternalId(question, await world.stage.as(viewer))).resources).toEqual([]);

    const [updated] = await put([item('f/old', { update: true, name: 'New', externalId: 'x1', markdown: 'new' })]);
    expect(updated?.status).toBe('updated');
    expect(await get('f/old')).toMatchObject({ name: 'New', externalId: 'x1', contentVersion: 2 });
    const [beside] = await put([item('f/beside', { externalId: 'x1', name: 'New', uniqueName: true })]);
    expect(beside?.warnings).toHaveLength(1);
    expect(await get('f/beside')).toMatchObject({ name: 'New 2', externalId: undefined });
  });

  test('require an editor, and a workspace that is not archived', async () => {
    const viewer = world.member(WorkspaceRole.VIEWER);
    expect(statuses(await put([item('g')], viewer))).toEqual(['insufficient_role']);
    await expect(
      imports.checkImportPlace({ workspaceId: world.workspaceId, parentId: undefined }, await world.stage.as(viewer)),
    ).rejects.toMatchObject({ reason: 'insufficient_role' });
    const place = await imports.checkImportPlace(
      { workspaceId: world.workspaceId, parentId: idOf('a') },
      await world.stage.as(admin),
    );
    expect(place).toEqual({ tenant: world.orgId, workspaceId: world.workspaceId, administers: true });
  });
});
