import type { Caller } from '@commonplace/kit/auth';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { AccessMode, type Resource, ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { admits } from './admits.js';
import { playClock } from './clock.js';
import { openSharingStage, type SharingStage } from './sharing-stage.js';
import type { PlayedTenancy, PlayedWorkspace } from './tenancy.js';

let s: SharingStage;
let org: ReturnType<PlayedTenancy['org']>;
let workspace: PlayedWorkspace;
let other: PlayedWorkspace;
let owner: Caller;
let viewer: Caller;
let guest: Caller;

beforeAll(async () => {
  s = await openSharingStage();
});
afterAll(() => s.stage.close());

beforeEach(() => {
  org = s.tenancy.org();
  workspace = s.tenancy.workspace(org);
  other = s.tenancy.workspace(org);
  owner = member('Owner', WorkspaceRole.OWNER);
  viewer = member('Viewer', WorkspaceRole.VIEWER);
  guest = member('Guest');
});

function member(name: string, role?: WorkspaceRole): Caller {
  const person = s.tenancy.person(name);
  org.roles.set(person.userId, OrgRole.MEMBER);
  if (role !== undefined) for (const one of [workspace, other]) one.roles.set(person.userId, role);
  return person;
}

const folder = (parentId?: string, accessMode = AccessMode.INHERIT) =>
  s.create(owner, { ...(parentId === undefined ? { workspaceId: workspace.id } : { parentId }), accessMode });
const document = (parentId: string) => s.create(owner, { parentId, type: ResourceType.DOCUMENT, name: 'Notes' });
const move = (id: string, parentId: string | undefined, workspaceId?: string) =>
  s.update(owner, id, { updateMask: ['parent_id'], parentId, workspaceId });
const setMode = (id: string, accessMode: AccessMode) =>
  s.update(owner, id, { updateMask: ['access_mode'], accessMode });

/** Returns a search on an index that is up to date now and receives no further events. */
async function indexNow(...resources: Resource[]): Promise<(by: Caller, workspaceId?: string) => Promise<string[]>> {
  const { entries } = await s.index.getIndexEntries(
    { ids: resources.map(({ id }) => id), mostBytes: 0 },
    await s.stage.as(undefined),
  );
  return async (by, workspaceId = workspace.id) => {
    const filter = await s.filter(by, [workspaceId]);
    const given = entries.filter((entry: IndexEntry) => admits(filter, entry)).map(({ id }) => id);
    // Search checks access to each hit before it returns it.
    const { resources: readable } = await s.index.checkAccess({ ids: given }, await s.stage.as(by));
    return readable.map(({ id }) => id);
  };
}

describe('a search on an outdated index finds', () => {
  test('what was moved out of a restricted folder, with its descendants', async () => {
    const closed = await folder(undefined, AccessMode.RESTRICTED);
    const head = await folder(closed.id);
    const leaf = await document(head.id);
    const stays = await document(closed.id);
    const found = await indexNow(head, leaf, stays);
    expect(await found(viewer)).toEqual([]);
    await move(head.id, undefined);
    expect(await found(viewer)).toEqual([head.id, leaf.id]);
    await move(head.id, closed.id);
    expect(await found(viewer)).toEqual([]);
  });

  test('the descendants of a folder that inherits again', async () => {
    const top = await folder(undefined, AccessMode.RESTRICTED);
    const leaf = await document((await folder(top.id)).id);
    const secret = await folder(top.id, AccessMode.RESTRICTED);
    const hidden = await document(secret.id);
    const found = await indexNow(top, leaf, secret, hidden);
    await setMode(top.id, AccessMode.INHERIT);
    expect(await found(viewer)).toEqual([top.id, leaf.id]);
    await setMode(secret.id, AccessMode.INHERIT);
    expect(await found(viewer)).toEqual([top.id, leaf.id, secret.id, hidden.id]);
  });

  test('the descendants of a granted folder after it was restricted or moved', async () => {
    const shelf = await folder();
    const shared = await folder(shelf.id);
    const leaf = await document(shared.id);
    await s.grant(owner, shared.id, { principalId: guest.userId, role: ResourceRole.VIEWER });
    const found = await indexNow(shelf, shared, leaf);
    await setMode(shared.id, AccessMode.RESTRICTED);
    expect(await found(guest)).toEqual([shared.id, leaf.id]);
    await setMode(shared.id, AccessMode.INHERIT);
    await setMode(shelf.id, AccessMode.RESTRICTED);
    expect(await found(guest)).toEqual([shared.id, leaf.id]);
    expect(await found(viewer)).toEqual([]);
  });

  test('what was moved from another workspace', async () => {
    const head = await folder();
    const leaf = await document(head.id);
    const found = await indexNow(head, leaf);
    await move(head.id, undefined, other.id);
    for (const by of [owner, viewer]) expect(await found(by, other.id)).toEqual([head.id, leaf.id]);
  });
});

test('does not include a former ancestor that was moved below the folder', async () => {
  const closed = await folder(undefined, AccessMode.RESTRICTED);
  const head = await folder(closed.id);
  const secret = await document(closed.id);
  await move(head.id, undefined);
  await move(closed.id, head.id);
  const { entries } = await s.index.getIndexEntries({ ids: [secret.id], mostBytes: 0 }, await s.stage.as(undefined));
  const filter = await s.filter(viewer, [workspace.id]);
  expect(entries.map((entry) => admits(filter, entry))).toEqual([false]);
});

describe('a search on an outdated index counts nothing', () => {
  /** Returns what the filter admits; these are what the index counts. */
  async function countNow(
    ...resources: Resource[]
  ): Promise<(by: Caller, workspaceIds?: string[]) => Promise<string[]>> {
    const { entries } = await s.index.getIndexEntries(
      { ids: resources.map(({ id }) => id), mostBytes: 0 },
      await s.stage.as(undefined),
    );
    return async (by, workspaceIds = [workspace.id]) => {
      const filter = await s.filter(by, workspaceIds);
      return entries.filter((entry: IndexEntry) => admits(filter, entry)).map(({ id }) => id);
    };
  }

  test('of a folder that was restricted, except what is granted below', async () => {
    const top = await folder();
    const leaf = await document(top.id);
    const shared = await folder(top.id);
    const inShared = await document(shared.id);
    const beside = await folder();
    await s.grant(owner, shared.id, { principalId: viewer.userId, role: ResourceRole.VIEWER });
    const counted = await countNow(top, leaf, shared, inShared, beside);
    const all = [top.id, leaf.id, shared.id, inShared.id, beside.id];
    expect(await counted(viewer)).toEqual(all);
    await setMode(top.id, AccessMode.RESTRICTED);
    expect(await counted(viewer)).toEqual([shared.id, inShared.id, beside.id]);
    expect(await counted(owner)).toEqual(all);
    await setMode(top.id, AccessMode.INHERIT);
    expect(await counted(viewer)).toEqual(all);
  });

  test('of a granted folder that contains a newly restricted one', async () => {
    const shared = await folder();
    const inner = await folder(shared.id);
    const leaf = await document(inner.id);
    await s.grant(owner, shared.id, { principalId: guest.userId, role: ResourceRole.VIEWER });
    const counted = await countNow(shared, inner, leaf);
    expect(await counted(guest)).toEqual([shared.id, inner.id, leaf.id]);
    await setMode(inner.id, AccessMode.RESTRICTED);
    expect(await counted(guest)).toEqual([shared.id]);
  });

  test('of what was moved into a restricted folder, out of a granted one, or to a workspace that is not searched', async () => {
    const closed = await folder(undefined, AccessMode.RESTRICTED);
    const shared = await folder();
    const head = await folder(shared.id);
    const leaf = await document(head.id);
    await s.grant(owner, shared.id, { principalId: guest.userId, role: ResourceRole.VIEWER });
    const counted = await countNow(shared, head, leaf);
    expect(await counted(guest)).toEqual([shared.id, head.id, leaf.id]);
    await move(head.id, undefined);
    expect(await counted(guest)).toEqual([shared.id]);
    expect(await counted(viewer)).toEqual([shared.id, head.id, leaf.id]);
    await move(head.id, closed.id);
    expect(await counted(viewer)).toEqual([shared.id]);
    await move(head.id, undefined, other.id);
    expect(await counted(viewer)).toEqual([shared.id]);
    expect(await counted(viewer, [workspace.id, other.id])).toEqual([shared.id, head.id, leaf.id]);
    expect(await counted(owner)).toEqual([shared.id]);
  });

  test('too little after a restricted folder has moved below one that left it', async () => {
    const closed = await folder(undefined, AccessMode.RESTRICTED);
    const head = await folder(closed.id);
    const stays = await document(closed.id);
    await s.grant(owner, closed.id, { principalId: guest.userId, role: ResourceRole.VIEWER });
    await move(head.id, undefined);
    await move(closed.id, head.id);
    const counted = await countNow(closed, stays, head);
    expect(await counted(guest)).toEqual([closed.id, stays.id]);
  });
});

test('what was moved into a granted folder is found at once', async () => {
  const shared = await folder();
  const leaf = await document((await folder()).id);
  await s.grant(owner, shared.id, { principalId: guest.userId, role: ResourceRole.VIEWER });
  const found = await indexNow(shared, leaf);
  expect(await found(guest)).toEqual([shared.id]);
  await move(leaf.id, shared.id);
  expect(await found(guest)).toEqual([shared.id, leaf.id]);
});

test('after ten minutes, a search uses the index alone', async () => {
  const closed = await folder(undefined, AccessMode.RESTRICTED);
  await setMode(closed.id, AccessMode.INHERIT);
  expect((await s.filter(viewer, [workspace.id])).granted).toEqual([{ resourceId: closed.id, boundaryId: closed.id }]);
  playClock(601_000);
  try {
    expect((await s.filter(viewer, [workspace.id])).granted).toEqual([]);
  } finally {
    jest.useRealTimers();
  }
});
