import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import {
  CreatePinRequest,
  ListPinsRequest,
  PinFilter,
  PinItemType,
  PinVisibility,
  RemovePinRequest,
  ReorderPinsRequest,
} from '@commonplace/proto/tenancy/v1/pin_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type ItemType, pinListCollection, pinListId } from '../src/stores/pins.js';
import { openWorld, type PlayedItem, type World, withKey } from './world.js';

let world: World;
let owner: Caller;
let workspaceId: string;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  owner = world.person();
  workspaceId = (await world.createWorkspace(owner)).id;
});

function item(name = 'Plan', more: Partial<PlayedItem> = {}): string {
  const id = newId();
  world.items.set(id, { workspaceId, name, ...more });
  return id;
}
const pin = async (caller: Caller, resourceId: string | undefined, more: Partial<CreatePinRequest> = {}, reply = {}) =>
  world.pins.createPin(
    CreatePinRequest.fromPartial({ workspaceId, resourceId, ...more } as CreatePinRequest),
    await world.as(caller, {}, reply),
  );
const list = async (caller: Caller, visibility = PinFilter.ALL, page = { limit: 50, offset: 0, cursor: '' }) =>
  world.pins.listPins(ListPinsRequest.fromPartial({ workspaceId, visibility, page }), await world.as(caller));
const names = async (caller: Caller, visibility = PinFilter.ALL) =>
  (await list(caller, visibility)).items.map(({ item: shown }) => shown?.name);
const move = async (caller: Caller, fields: Partial<ReorderPinsRequest>, metadata = {}) =>
  world.pins.reorderPins(
    ReorderPinsRequest.fromPartial({ workspaceId, ...fields } as ReorderPinsRequest),
    await world.as(caller, metadata),
  );
const unpin = async (caller: Caller, fields: Partial<RemovePinRequest>) =>
  world.pins.removePin(
    RemovePinRequest.fromPartial({ workspaceId, ...fields } as RemovePinRequest),
    await world.as(caller),
  );
async function member(role: WorkspaceRole): Promise<Caller> {
  const caller = world.person();
  await world.put(owner, workspaceId, caller, role);
  return caller;
}

test('a pin keeps its position, and is created once', async () => {
  const [a, b, c] = [item('A'), item('B'), item('C')];
  await pin(owner, a);
  await pin(owner, b);
  const reply = { status: undefined };
  const first = await pin(owner, c, { position: 0 });
  expect(first).toMatchObject({ position: 0, item: { type: PinItemType.RESOURCE, id: c, name: 'C' } });
  expect(first.addedBy).toMatchObject({ id: owner.userId });
  expect(await pin(owner, c, { position: 2 }, reply)).toEqual(first);
  expect(reply.status).toBe(200);
  expect(await names(owner)).toEqual(['C', 'A', 'B']);
});

test("the workspace's pins come first, then the person's own, which only they see", async () => {
  const [a, b] = [item('A'), item('B')];
  await pin(owner, a, { visibility: PinVisibility.ME });
  await pin(owner, b);
  await pin(owner, a);
  expect(await names(owner)).toEqual(['B', 'A', 'A']);
  expect(await names(owner, PinFilter.ME)).toEqual(['A']);
  expect(await names(await member(WorkspaceRole.VIEWER))).toEqual(['B', 'A']);
});

test('pins of unreadable items are omitted, and keep their place among the others', async () => {
  const editor = await member(WorkspaceRole.EDITOR);
  const hidden = item('Secret', { hiddenFrom: editor.userId });
  await pin(owner, item('A'));
  await pin(owner, hidden);
  await pin(owner, item('B'));
  await pin(owner, item('C'));
  const seen = await list(editor);
  expect(JSON.stringify(seen)).not.toContain('Secret');
  expect(seen.items.map(({ position }) => position)).toEqual([0, 1, 2]);
  expect(seen.page?.total).toBe(3);
  await expect(pin(editor, hidden)).rejects.toMatchObject({ reason: 'not_found' });
  const order = seen.items.map(({ id }) => id).reverse();
  expect((await move(editor, { order })).items.map((one) => one.item?.name)).toEqual(['C', 'B', 'A']);
  expect(await names(owner)).toEqual(['C', 'Secret', 'B', 'A']);
  await move(editor, { pinId: seen.items[0]?.id, position: 0 });
  expect(await names(owner)).toEqual(['A', 'C', 'Secret', 'B']);
});

describe('each role', () => {
  test.each([
    [WorkspaceRole.GUEST, 'insufficient_role'],
    [WorkspaceRole.VIEWER, 'insufficient_role'],
    [WorkspaceRole.COMMENTER, 'insufficient_role'],
    [WorkspaceRole.EDITOR, 'ok'],
    [WorkspaceRole.ADMIN, 'ok'],
  ])('%s', async (role, writes) => {
    const caller = await member(role);
    const outcome = (act: Promise<unknown>) =>
      act.then(
        () => 'ok',
        (error: { reason: string }) => error.reason,
      );
    const { id } = await pin(owner, item());
    expect(await outcome(list(caller))).toBe('ok');
    expect(await outcome(pin(caller, item()))).toBe(writes);
    expect(await outcome(move(caller, { pinId: id, position: 0 }))).toBe(writes);
    expect(await outcome(unpin(caller, { pinId: id }))).toBe(writes);
    const own = await pin(caller, item(), { visibility: PinVisibility.ME });
    expect(await outcome(move(caller, { pinId: own.id, position: 0 }))).toBe('ok');
    expect(await outcome(unpin(owner, { pinId: own.id }))).toBe('not_found');
    expect(await outcome(unpin(caller, { pinId: own.id }))).toBe('ok');
  });

  test('outsiders cannot see whether the workspace exists, and a key stays in its tenant', async () => {
    await expect(list(world.person())).rejects.toMatchObject({ reason: 'not_found' });
    await expect(list(withKey(owner, null))).resolves.toBeDefined();
    await expect(list(withKey(owner, newId()))).rejects.toMatchObject({ reason: 'tenant_boundary' });
  });
});

describe('the target', () => {
  test('is named in one of two ways, and has to be an item of this workspace', async () => {
    const other = item('Elsewhere', { workspaceId: newId() });
    const target = { type: PinItemType.RESOURCE, id: item() };
    const create = async (fields: Partial<CreatePinRequest>) =>
      world.pins.createPin(
        CreatePinRequest.fromPartial({ workspaceId, ...fields } as CreatePinRequest),
        await world.as(owner),
      );
    await expect(create({})).rejects.toMatchObject({ reason: 'missing_target' });
    await expect(create({ resourceId: newId(), item: target })).rejects.toMatchObject({ reason: 'ambiguous_target' });
    await expect(create({ item: { type: PinItemType.AGENT, id: newId() } })).rejects.toMatchObject({
      reason: 'not_found',
      param: 'item.id',
    });
    await expect(
      create({ resourceId: target.id, item: { type: PinItemType.AGENT, id: target.id } }),
    ).rejects.toMatchObject({ reason: 'ambiguous_target' });
    await expect(create({ resourceId: other })).rejects.toMatchObject({
      reason: 'invalid_value',
      param: 'resource_id',
    });
    await expect(create({ resourceId: newId() })).rejects.toMatchObject({ reason: 'not_found' });
    await expect(create({ resourceId: target.id, item: target })).resolves.toMatchObject({ item: { id: target.id } });
  });

  test("can be a pin's id or its item when it is removed", async () => {
    const [a, b, c] = [item('A'), item('B'), item('C')];
    const { id } = await pin(owner, a);
    await pin(owner, b);
    await pin(owner, c);
    expect(await unpin(owner, { pinId: id })).toEqual({ id, deleted: true });
    await unpin(owner, { resourceId: b });
    await unpin(owner, { itemType: PinItemType.RESOURCE, itemId: c });
    expect(await names(owner)).toEqual([]);
    await expect(unpin(owner, {})).rejects.toMatchObject({ reason: 'missing_target' });
    await expect(unpin(owner, { itemId: c })).rejects.toMatchObject({ reason: 'missing_field', param: 'item_type' });
    await expect(unpin(owner, { pinId: id, resourceId: b })).rejects.toMatchObject({ reason: 'ambiguous_target' });
    await expect(unpin(owner, { pinId: id })).rejects.toMatchObject({ reason: 'not_found' });
  });

  test("prefers the caller's own pin of an item in both lists, unless the request says otherwise", async () => {
    const a = item('A');
    await pin(owner, a);
    await pin(owner, a, { visibility: PinVisibility.ME });
    await unpin(owner, { resourceId: a });
    expect((await list(owner)).items.map(({ visibility }) => visibility)).toEqual([PinVisibility.WORKSPACE]);
    await pin(owner, a, { visibility: PinVisibility.ME });
    await unpin(owner, { resourceId: a, visibility: PinVisibility.WORKSPACE });
    expect((await list(owner)).items.map(({ visibility }) => visibility)).toEqual([PinVisibility.ME]);
  });

  test('must be every pin exactly once for an order', async () => {
    const ids = [(await pin(owner, item('A'))).id, (await pin(owner, item('B'))).id];
    const [first = '', second = ''] = ids;
    for (const order of [[first], [first, first], [first, newId()], [newId(), second], [...ids, newId()]]) {
      await expect(move(owner, { order })).rejects.toMatchObject({ reason: 'invalid_value', param: 'order' });
    }
    await expect(move(owner, { order: ids, pinId: first })).rejects.toMatchObject({ reason: 'ambiguous_target' });
    await expect(move(owner, { pinId: first })).rejects.toMatchObject({ reason: 'missing_field', param: 'position' });
    await expect(move(owner, { position: 1 })).rejects.toMatchObject({ reason: 'missing_target' });
    expect((await move(owner, { order: [second, first] })).items.map(({ position }) => position)).toEqual([0, 1]);
    expect(await names(owner)).toEqual(['B', 'A']);
  });
});

test('concurrent changes of one list all take effect, and a stale version is refused', async () => {
  const items = Array.from({ length: 12 }, (_, i) => item(`I${i}`));
  const made = await Promise.all(items.map((id) => pin(owner, id)));
  expect((await names(owner)).sort()).toEqual(items.map((_, i) => `I${i}`).sort());
  await Promise.all(made.map(({ id }, i) => move(owner, { pinId: id, position: i })));
  expect(new Set(await names(owner)).size).toBe(12);
  const [one] = (await list(owner)).items;
  const stale = { baseVersion: (one?.version ?? 0) - 1 };
  await expect(move(owner, { pinId: one?.id, position: 3 }, stale)).rejects.toMatchObject({
    reason: 'version_conflict',
    details: { updated_by: { id: owner.userId } },
  });
  await move(owner, { pinId: one?.id, position: 3 }, { baseVersion: one?.version });
});

test('a list has at most fifty pins, and pages', async () => {
  for (let i = 0; i < 50; i++) await pin(owner, item(`I${i}`));
  await expect(pin(owner, item())).rejects.toMatchObject({ reason: 'limit_reached', details: { limit: 50 } });
  await pin(owner, item(), { visibility: PinVisibility.ME });
  const first = await list(owner, PinFilter.WORKSPACE, { limit: 30, offset: 0, cursor: '' });
  expect(first.page).toMatchObject({ total: 50, hasMore: true, nextOffset: 30 });
  const cursor = first.page?.nextCursor ?? '';
  const rest = await list(owner, PinFilter.WORKSPACE, { limit: 30, offset: 0, cursor });
  expect([...first.items, ...rest.items].map(({ position }) => position)).toEqual(
    Array.from({ length: 50 }, (_, i) => i),
  );
});

test('an archived workspace keeps its pins unchanged', async () => {
  const { id } = await pin(owner, item());
  await world.archive(workspaceId);
  const archived = { reason: 'workspace_archived' };
  await expect(pin(owner, item())).rejects.toMatchObject(archived);
  await expect(move(owner, { pinId: id, position: 0 })).rejects.toMatchObject(archived);
  await expect(unpin(owner, { pinId: id })).rejects.toMatchObject(archived);
  expect(await names(owner)).toHaveLength(1);
});

test("leaving a workspace deletes the person's own pins there", async () => {
  const caller = world.person();
  const { id: memberId = '' } = await world.put(owner, workspaceId, caller, WorkspaceRole.VIEWER);
  await pin(caller, item(), { visibility: PinVisibility.ME });
  const leaving = { workspaceId, memberId, keepGrants: false };
  await world.workspaces.removeWorkspaceMember(leaving, await world.as(owner));
  const lists = await world.host.store.collection(pinListCollection);
  await eventually(async () => expect(await lists.get(pinListId(workspaceId, 'me', caller.userId))).toBeUndefined());
});

const publish = (type: string, subject: string, data: Record<string, unknown>, time = new Date().toISOString()) =>
  world.host.bus.publish([
    {
      specversion: '1.0',
      id: `evt_${newId()}`,
      source: `/${type.split('.')[0]}`,
      type: `commonplace.${type}`,
      subject,
      time,
      datacontenttype: 'application/json',
      data,
    },
  ]);

const pinTyped = (caller: Caller, type: PinItemType, id: string, more: Partial<CreatePinRequest> = {}) =>
  pin(caller, undefined, { item: { type, id }, ...more });

describe('items of other types', () => {
  const OTHERS = [
    ['agent', PinItemType.AGENT],
    ['chat_session', PinItemType.CHAT_SESSION],
    ['im_conversation', PinItemType.IM_CONVERSATION],
    ['automation', PinItemType.AUTOMATION],
  ] as const satisfies readonly (readonly [ItemType, PinItemType])[];

  test.each(OTHERS)('%s: is pinned, moved, hidden from those who cannot read it, and removed', async (type, named) => {
    const editor = await member(WorkspaceRole.EDITOR);
    const id = item('Secret', { type, hiddenFrom: editor.userId });
    await pin(owner, item('A'));
    const made = await pinTyped(owner, named, id, { position: 0 });
    expect(made).toMatchObject({ position: 0, item: { type: named, id, name: 'Secret' } });
    expect(await pinTyped(owner, named, id)).toEqual(made);
    expect(await names(owner)).toEqual(['Secret', 'A']);
    const seen = await list(editor);
    expect(JSON.stringify(seen)).not.toContain('Secret');
    expect(seen.items.map(({ position, item: shown }) => [position, shown?.name])).toEqual([[0, 'A']]);
    await expect(pinTyped(editor, named, id)).rejects.toMatchObject({ reason: 'not_found', param: 'item.id' });
    await expect(move(editor, { item: { type: named, id }, position: 0 })).rejects.toMatchObject({
      reason: 'not_found',
    });
    await move(owner, { item: { type: named, id }, position: 1 });
    expect(await names(owner)).toEqual(['A', 'Secret']);
    await expect(unpin(owner, { resourceId: id })).rejects.toMatchObject({ reason: 'not_found' });
    await unpin(owner, { itemType: named, itemId: id });
    expect(await names(owner)).toEqual(['A']);
  });

  test.each(OTHERS)('%s: has to be of that type and in the workspace', async (type, named) => {
    const elsewhere = item('Elsewhere', { type, workspaceId: newId() });
    await expect(pinTyped(owner, named, elsewhere)).rejects.toMatchObject({
      reason: 'invalid_value',
      param: 'item.id',
    });
    const resource = item('A');
    await pin(owner, resource);
    await expect(pinTyped(owner, named, resource)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(unpin(owner, { itemType: named, itemId: resource })).rejects.toMatchObject({ reason: 'not_found' });
    await expect(pin(owner, item('B', { type }))).rejects.toMatchObject({ reason: 'not_found' });
  });

  test.each(OTHERS)('%s: is omitted while its service does not answer, and keeps its place', async (type, named) => {
    const id = item('Away', { type });
    await pin(owner, item('A'));
    const { id: pinId } = await pinTyped(owner, named, id);
    await pin(owner, item('B'));
    world.play.away = [type];
    try {
      const shown = await list(owner);
      expect(shown.items.map((one) => one.item?.name)).toEqual(['A', 'B']);
      await move(owner, { order: shown.items.map((one) => one.id).reverse() });
      await pin(owner, item('C'));
      const unavailable = { code: 'UNAVAILABLE' };
      await expect(pinTyped(owner, named, item('New', { type }))).rejects.toMatchObject(unavailable);
      await expect(move(owner, { pinId, position: 0 })).rejects.toMatchObject(unavailable);
    } finally {
      world.play.away = [];
    }
    expect(await names(owner)).toEqual(['B', 'Away', 'A', 'C']);
  });

  test('cost lists of resources nothing', async () => {
    await pin(owner, item('A'));
    world.requests.checked.length = 0;
    await list(owner);
    expect(world.requests.checked).toEqual(['resource']);
    await pinTyped(owner, PinItemType.AUTOMATION, item('B', { type: 'automation' }));
    world.requests.checked.length = 0;
    await list(owner);
    expect(world.requests.checked.sort()).toEqual(['automation', 'resource']);
  });

  test('carry the icon of a conversation', async () => {
    const id = item('General', { type: 'im_conversation', icon: '📣' });
    const made = await pinTyped(owner, PinItemType.IM_CONVERSATION, id);
    expect(made.item).toMatchObject({ name: 'General', icon: '📣' });
  });

  test.each([
    ['agent', 'agents.agent.deleted', {}],
    ['chat_session', 'agents.chat_session.deleted', {}],
    ['automation', 'automations.automation.deleted', {}],
    ['im_conversation', 'messaging.conversation.updated', { changedFields: ['deleted'] }],
  ] as const)('%s: is removed from every list when it is deleted', async (type, event, data) => {
    const named = PinItemType[type.toUpperCase() as Uppercase<typeof type>];
    const [gone, kept] = [item('Gone', { type }), item('Kept', { type })];
    await pinTyped(owner, named, gone);
    await pinTyped(owner, named, gone, { visibility: PinVisibility.ME });
    await pinTyped(owner, named, kept);
    if (type === 'im_conversation') await publish(event, kept, { changedFields: ['name'] });
    await publish(event, gone, data);
    await eventually(async () => expect(await names(owner)).toEqual(['Kept']));
  });
});

test('purging an item removes it from every list', async () => {
  const [a, b] = [item('A'), item('B')];
  await pin(owner, a);
  await pin(owner, a, { visibility: PinVisibility.ME });
  await pin(owner, b);
  await publish('resources.resource.purged', a, { resourceIds: [a], workspaceId });
  await eventually(async () => expect(await names(owner)).toEqual(['B']));
});

describe('an item that leaves a workspace', () => {
  const elsewhere = newId();

  test('is removed from the lists there: a resource that is moved', async () => {
    const [gone, kept] = [item('Gone'), item('Kept')];
    for (const id of [gone, kept]) await pin(owner, id);
    await pin(owner, gone, { visibility: PinVisibility.ME });
    await publish('resources.resource.moved', kept, { resourceIds: [kept], workspaceId });
    await publish('resources.resource.moved', newId(), { resourceIds: [newId(), gone], workspaceId: elsewhere });
    await eventually(async () => expect(await names(owner)).toEqual(['Kept']));
  });

  test('is removed from the lists there: an agent', async () => {
    const [gone, kept] = [item('Gone', { type: 'agent' }), item('Kept', { type: 'agent' })];
    for (const id of [gone, kept]) await pinTyped(owner, PinItemType.AGENT, id);
    await publish('agents.agent.updated', kept, { leftWorkspaceIds: [elsewhere] });
    await publish('agents.agent.updated', kept, { changedFields: ['name'] });
    await publish('agents.agent.updated', gone, { leftWorkspaceIds: [workspaceId] });
    await eventually(async () => expect(await names(owner)).toEqual(['Kept']));
  });

  test('keeps what is pinned after it has come back', async () => {
    const [back, gone] = [item('Back'), item('Gone')];
    for (const id of [back, gone]) await pin(owner, id);
    const before = new Date(Date.now() - 60_000).toISOString();
    await publish('resources.resource.moved', back, { resourceIds: [back], workspaceId: elsewhere }, before);
    await publish('resources.resource.purged', gone, { resourceIds: [gone], workspaceId });
    await eventually(async () => expect(await names(owner)).toEqual(['Back']));
  });
});

test('a page after removals skips no pin', async () => {
  const made = await inOrder(7);
  const page = (cursor: string) => list(owner, PinFilter.WORKSPACE, { limit: 2, offset: 0, cursor });
  const first = await page('');
  // Removes a pin of the first page, and then the last pin of that page.
  await unpin(owner, { pinId: made[0] as string });
  const second = await page(first.page?.nextCursor ?? '');
  expect(second.items.map(({ id }) => id)).toEqual(made.slice(2, 4));
  await unpin(owner, { pinId: made[3] as string });
  await unpin(owner, { pinId: made[4] as string });
  const third = await page(second.page?.nextCursor ?? '');
  expect(third.items.map(({ id }) => id)).toEqual(made.slice(5));
  expect(third.page).toMatchObject({ total: 4, hasMore: false });
});

async function inOrder(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at++) ids.push((await pin(owner, item(`${at}`))).id);
  return ids;
}
