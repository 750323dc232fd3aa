import type { Caller } from '@commonplace/kit/auth';
import type { Client, Reply } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { ResourceInclude } from '@commonplace/proto/resources/v1/resource_service.js';
import {
  AddResourceTagsRequest,
  ListTagsRequest,
  OperateTagsRequest,
  RemoveResourceTagsRequest,
  RemoveTagRequest,
  TagOperation,
  type TagService,
} from '@commonplace/proto/resources/v1/tag_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

let world: World;
let tags: Client<TagService>;
let editor: Caller;
let viewer: Caller;
let count = 0;
const fresh = (name: string) => `${name} ${count}`;

beforeAll(async () => {
  process.env.COMMONPLACE_INLINE_TAGGED = '2';
  world = await openWorld();
  tags = world.stage.host.client(contracts.tags);
  editor = world.member(WorkspaceRole.EDITOR);
  viewer = world.member(WorkspaceRole.VIEWER);
});
beforeEach(() => {
  count++;
});
afterAll(async () => {
  delete process.env.COMMONPLACE_INLINE_TAGGED;
  await world.stage.close();
});

type Operation = Partial<OperateTagsRequest>;

/** Calls the operation endpoint like the gateway: the mask names the fields that are set. */
async function operate(fields: Operation, caller = editor, reply: Reply = {}) {
  const { workspaceId: _, ...given } = fields;
  const updateMask = Object.keys(given).map((key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const page = { limit: 50, offset: 0, cursor: '' };
  const request = OperateTagsRequest.fromPartial({ workspaceId: world.workspaceId, page, ...fields, updateMask });
  return tags.operateTags(request, await world.stage.as(caller, {}, reply));
}

async function add(resourceId: string, fields: Partial<AddResourceTagsRequest>, caller = editor, reply: Reply = {}) {
  const request = AddResourceTagsRequest.fromPartial({ resourceId, ...fields });
  return (await tags.addResourceTags(request, await world.stage.as(caller, {}, reply))).items;
}

async function remove(resourceId: string, fields: Partial<RemoveResourceTagsRequest>) {
  const request = RemoveResourceTagsRequest.fromPartial({ resourceId, ...fields });
  return (await tags.removeResourceTags(request, await world.stage.as(editor))).items;
}

async function list(fields: Partial<ListTagsRequest> = {}) {
  const page = { limit: 200, offset: 0, cursor: '' };
  const request = ListTagsRequest.fromPartial({ workspaceId: world.workspaceId, page, ...fields });
  return tags.listTags(request, await world.stage.as(viewer));
}

const usageOf = async (id: string) => (await list()).items.find((tag) => tag.id === id)?.usageCount;
const names = (items: readonly { name: string }[]) => items.map(({ name }) => name);

test('of several creations of a tag at once, one says that it has created it', async () => {
  const name = fresh('Race');
  const statuses = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const reply: Reply = {};
      await operate({ name }, editor, reply);
      return reply.status ?? 200;
    }),
  );
  expect(statuses.sort()).toEqual([200, 200, 200, 200, 200, 201]);
});

describe('the tags of a workspace', () => {
  test('are created once by name, regardless of case and width', async () => {
    const reply: Reply = {};
    const made = await operate({ name: fresh('Urgent'), color: '#FF0000' }, editor, reply);
    expect([reply.status, made.name, made.color.toString(), made.usageCount]).toEqual([
      201,
      fresh('Urgent'),
      '"#ff0000"',
      0,
    ]);
    const again: Reply = {};
    const same = await operate({ name: fresh('ＵＲＧＥＮＴ '), color: 'green' }, editor, again);
    expect([again.status, same.id, same.color.toString()]).toEqual([undefined, made.id, '"#ff0000"']);
  });

  test('are listed by an operation without a name, for viewers too', async () => {
    const { id } = await operate({ name: fresh('Listed') });
    const { items, page } = await operate({ q: fresh('liSTed') }, viewer);
    expect(items?.items.map((tag) => tag.id)).toEqual([id]);
    expect(page?.total).toBe(1);
    await expect(operate({ name: fresh('No') }, viewer)).rejects.toMatchObject({ reason: 'insufficient_role' });
  });

  test('report all faults of an operation at once', async () => {
    const merge = operate({ operation: TagOperation.MERGE, name: 'x', color: 'red' });
    await expect(merge).rejects.toMatchObject({
      faults: [
        { param: 'name', code: 'unknown_field' },
        { param: 'color', code: 'unknown_field' },
        { param: 'tag_id', code: 'missing_field' },
        { param: 'into_tag_id', code: 'missing_field' },
      ],
    });
    const { id } = await operate({ name: fresh('Bare') });
    const update = operate({ operation: TagOperation.UPDATE, tagId: id });
    await expect(update).rejects.toMatchObject({ reason: 'no_update_field' });
    await expect(operate({ name: 'Colour', color: 'red;x' })).rejects.toMatchObject({ param: 'color' });
  });

  test('are renamed, unless another has the name', async () => {
    const one = await operate({ name: fresh('One') });
    const two = await operate({ name: fresh('Two') });
    const update = { operation: TagOperation.UPDATE, tagId: one.id };
    const renamed = await operate({ ...update, name: fresh('ONE'), description: 'First' });
    expect([renamed.name, renamed.description.toString(), renamed.version]).toEqual([fresh('ONE'), '"First"', 2]);
    const taken = operate({ ...update, name: fresh('two') });
    await expect(taken).rejects.toMatchObject({ reason: 'already_exists', details: { tag_id: two.id } });
    const cleared = await operate({ ...update, description: undefined });
    expect(cleared.description.toString()).toBe('null');
  });

  test('are sorted by name or use, page by page', async () => {
    const { id } = await world.create(editor, { tags: [fresh('P b'), fresh('P a')] });
    await world.create(editor, { tags: [fresh('P b')] });
    await operate({ name: fresh('P c') });
    const q = 'p ';
    const pages = async (sort: string) => {
      const seen: string[] = [];
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const answer: Awaited<ReturnType<typeof list>> = await list({ q, sort, page: { limit: 1, offset: 0, cursor } });
        seen.push(...names(answer.items));
        cursor = answer.page?.nextCursor;
      }
      return seen.map((name) => name.split(' ')[1]).join('');
    };
    expect(await pages('name')).toBe('abc');
    expect(await pages('-name')).toBe('cba');
    expect(await pages('-usage_count')).toBe('bac');
    expect(await pages('usage_count')).toBe('cab');
    await world.remove(editor, id);
  });

  test('with characters beyond the basic plane are all on some page', async () => {
    const q = fresh('♥');
    // A variation selector, U+FE0F, is before U+1F389 by its code point, and behind it by its UTF-16 unit.
    for (const end of ['\uFE0Fa', '🎉a', '🎉b', '\uFE0Fb']) await operate({ name: `${q}${end}` });
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const answer: Awaited<ReturnType<typeof list>> = await list({ q, page: { limit: 1, offset: 0, cursor } });
      seen.push(...names(answer.items));
      cursor = answer.page?.nextCursor;
    }
    expect(seen).toEqual(['\uFE0Fa', '\uFE0Fb', '🎉a', '🎉b'].map((end) => `${q}${end}`));
  });
});

describe('the tags of a resource', () => {
  test('are added and removed; the usage count follows', async () => {
    const { id } = await world.create(editor, {});
    const reply: Reply = {};
    const added = await add(id, { names: [fresh('B'), fresh('a'), fresh('b')] }, editor, reply);
    expect([reply.status, ...added.map(({ name, usageCount }) => [name, usageCount])]).toEqual([
      201,
      [fresh('a'), 1],
      [fresh('B'), 1],
    ]);
    const again: Reply = {};
    await add(id, { name: fresh('A') }, editor, again);
    expect(again.status).toBeUndefined();
    const [a, b] = added.map((tag) => tag.id) as [string, string];
    expect((await world.get(editor, id)).tags.sort()).toEqual([a, b].sort());
    expect(await remove(id, { tagId: a })).toMatchObject([{ id: b, usageCount: 1 }]);
    const { version } = await world.get(editor, id);
    expect(await remove(id, { name: 'No such tag' })).toHaveLength(1);
    expect((await world.get(editor, id)).version).toBe(version);
    expect(await usageOf(a)).toBe(0);
  });

  test('are counted while it lives', async () => {
    const { id, tags: carried } = await world.create(editor, { tags: [fresh('Counted')] });
    const tag = carried[0] as string;
    expect(await usageOf(tag)).toBe(1);
    await world.remove(editor, id);
    expect(await usageOf(tag)).toBe(0);
    await world.trash.restoreResource({ resourceId: id, parentId: undefined }, await world.stage.as(editor));
    expect(await usageOf(tag)).toBe(1);
    await world.update(editor, id, { updateMask: ['workspace_id'], workspaceId: world.otherWorkspaceId });
    expect(await usageOf(tag)).toBe(0);
    expect((await world.get(editor, id)).tags).toEqual([]);
  });

  test('are created once by concurrent calls with a new name, and counted exactly', async () => {
    const made = await Promise.all(Array.from({ length: 12 }, () => world.create(editor, {})));
    const added = await Promise.all(made.map(({ id }) => add(id, { name: fresh('Rush') })));
    const ids = new Set(added.flat().map(({ id }) => id));
    expect(ids.size).toBe(1);
    const [tag = ''] = ids;
    expect(await usageOf(tag)).toBe(12);
    await Promise.all(made.slice(0, 5).map(({ id }) => remove(id, { tagIds: [tag] })));
    expect(await usageOf(tag)).toBe(7);
    expect((await world.list(editor, { tagId: [tag] })).total).toBe(7);
  });

  test('are named by exactly one field', async () => {
    const { id } = await world.create(editor, {});
    await expect(add(id, {})).rejects.toMatchObject({ reason: 'missing_target' });
    await expect(add(id, { name: 'x', names: ['y'] })).rejects.toMatchObject({ reason: 'ambiguous_target' });
    const other = await world.create(editor, { workspaceId: world.otherWorkspaceId, tags: [fresh('Elsewhere')] });
    const foreign = add(id, { tagIds: other.tags });
    await expect(foreign).rejects.toMatchObject({ reason: 'invalid_value', param: 'tag_ids[0]' });
    expect((await world.get(editor, id)).tags).toEqual([]);
  });

  test('are limited to 50', async () => {
    const { id } = await world.create(editor, { tags: Array.from({ length: 50 }, (_, i) => fresh(`N${i}`)) });
    await expect(add(id, { name: fresh('One more') })).rejects.toMatchObject({ reason: 'limit_reached' });
    expect(await add(id, { name: fresh('n7') })).toHaveLength(50);
    for (const tag of (await world.get(editor, id)).tags) await discard(tag);
  });

  test('are replaced by a PATCH and narrow a list', async () => {
    const { id } = await world.create(editor, { tags: [fresh('X')] });
    const { tags: now } = await world.update(editor, id, { updateMask: ['tags'], tags: [fresh('Y'), fresh('Z')] });
    expect(now).toHaveLength(2);
    expect((await world.list(editor, { tagId: [now[0] as string] })).ids).toEqual([id]);
    expect((await world.list(editor, { tagId: [world.workspaceId] })).total).toBe(0);
    const request = { resourceId: id, include: [ResourceInclude.TAGS], includeTrashed: false };
    const { tagRecords } = await world.resources.getResource(request, await world.stage.as(viewer));
    expect(names(tagRecords?.items ?? [])).toEqual([fresh('Y'), fresh('Z')]);
    const cleared = await world.update(editor, id, { updateMask: ['tags'], tags: [] });
    expect(cleared.tags).toEqual([]);
    expect(await usageOf(now[0] as string)).toBe(0);
  });

  test('are listed by resource in one call', async () => {
    const one = await world.create(editor, { tags: [fresh('R1'), fresh('R2')] });
    const two = await world.create(editor, {});
    const { items, byResource } = await operate({ resourceIds: [one.id, two.id, world.workspaceId] }, viewer);
    expect(names(items?.items ?? [])).toEqual([fresh('R1'), fresh('R2')]);
    expect(JSON.parse(byResource.toString())).toEqual({ [one.id]: one.tags, [two.id]: [] });
  });

  test('a new name requires an editor of the workspace', async () => {
    const guest = world.member(WorkspaceRole.EDITOR);
    const { id } = await world.create(editor, {});
    world.setRole(guest, WorkspaceRole.COMMENTER);
    await world.get(editor, id);
    await expect(add(id, { name: fresh('New') }, guest)).rejects.toMatchObject({ reason: 'insufficient_role' });
  });
});

async function discard(tagId: string) {
  return tags.deleteTag({ tagId }, await world.stage.as(editor));
}

async function retire(tagId: string, resourceIds: string[] = []) {
  return tags.removeTag(RemoveTagRequest.fromPartial({ tagId, resourceIds }), await world.stage.as(editor));
}

/** Waits until the index shows a node's tags; a node is rewritten once, by the call or by a job. */
async function settled(id: string, expected: readonly string[], version = 2): Promise<void> {
  await eventually(async () => {
    const { entries } = await world.index.getIndexEntries({ ids: [id], mostBytes: 0 }, await world.stage.as(undefined));
    expect(entries[0]).toMatchObject({ tags: expected, version });
  });
}

describe.each([
  ['few', 2],
  ['many', 5],
])('a tag on %s resources', (_, size) => {
  const make = async (name: string) => {
    const made = [];
    for (let i = 0; i < size; i++) made.push(await world.create(editor, { tags: [fresh(name)] }));
    return { ids: made.map(({ id }) => id), tag: made[0]?.tags[0] as string };
  };

  test('is removed from all of them when it is deleted', async () => {
    const { ids, tag } = await make(`Gone ${size}`);
    expect(await discard(tag)).toEqual({ id: tag, deleted: true, detachedCount: size });
    for (const id of ids) expect((await world.get(editor, id)).tags).toEqual([]);
    expect((await world.list(editor, { tagId: [tag] })).total).toBe(0);
    await expect(discard(tag)).rejects.toMatchObject({ reason: 'not_found' });
    for (const id of ids) await settled(id, []);
    expect((await operate({ name: fresh(`Gone ${size}`) })).usageCount).toBe(0);
  });

  test('is removed from some and remains on the others', async () => {
    const { ids, tag } = await make(`Some ${size}`);
    const [first = ''] = ids;
    expect(await retire(tag, [first])).toEqual({ id: tag, deleted: false, detachedCount: 1 });
    expect(await usageOf(tag)).toBe(size - 1);
    expect(await retire(tag)).toEqual({ id: tag, deleted: true, detachedCount: size - 1 });
  });

  test('is replaced by the other tag everywhere when it is merged', async () => {
    const from = await make(`From ${size}`);
    const into = await make(`Into ${size}`);
    const [both = ''] = from.ids;
    await add(both, { tagId: into.tag });
    const merged = await operate({ operation: TagOperation.MERGE, tagId: from.tag, intoTagId: into.tag });
    expect([merged.id, merged.usageCount]).toEqual([into.tag, 2 * size]);
    for (const id of from.ids) expect((await world.get(editor, id)).tags).toEqual([into.tag]);
    expect((await world.list(editor, { tagId: [from.tag] })).total).toBe(0);
    await expect(add(both, { tagId: from.tag })).rejects.toMatchObject({ reason: 'invalid_value' });
    expect((await world.list(editor, { tagId: [into.tag] })).total).toBe(2 * size);
    expect(await usageOf(into.tag)).toBe(2 * size);
    await expect(discard(from.tag)).rejects.toMatchObject({ reason: 'not_found' });
    for (const id of from.ids) await settled(id, [into.tag], id === both ? 3 : 2);
    expect(await usageOf(into.tag)).toBe(2 * size);
    expect((await list({ q: fresh(`From ${size}`) })).items).toEqual([]);
  });
});

test('a workspace has at most 1,000 tags', async () => {
  const workspaceId = world.otherWorkspaceId;
  const page = { limit: 1, offset: 0, cursor: '' };
  const { page: now } = await list({ workspaceId, page });
  let left = 1000 - (now?.total ?? 0);
  for (let batch = 0; left > 0; batch++) {
    const size = Math.min(left, 50);
    await world.create(editor, { workspaceId, tags: Array.from({ length: size }, (_, i) => `Many ${batch} ${i}`) });
    left -= size;
  }
  await expect(operate({ workspaceId, name: 'One more' })).rejects.toMatchObject({ reason: 'limit_reached' });
  expect((await operate({ workspaceId, name: 'many 0 0' })).name).toBe('Many 0 0');
});

test('two tags that are merged into each other in sequence become one', async () => {
  const ids: string[] = [];
  for (const name of ['C1', 'C1', 'C1', 'C2', 'C3']) {
    ids.push((await world.create(editor, { tags: [fresh(name)] })).tags[0] as string);
  }
  const [one = '', , , two = '', three = ''] = ids;
  await operate({ operation: TagOperation.MERGE, tagId: one, intoTagId: two });
  await operate({ operation: TagOperation.MERGE, tagId: two, intoTagId: three });
  expect((await world.list(editor, { tagId: [three] })).total).toBe(5);
  expect(await usageOf(three)).toBe(5);
});

test('a search finds the ids by name', async () => {
  const { tags: carried } = await world.create(editor, { tags: [fresh('Findable')] });
  const question = { tagIds: carried, tagTerms: [fresh('FINDable'), 'none'] };
  const filter = await world.index.getSearchFilter(
    { workspaceIds: [world.workspaceId], includeArchived: false, parentId: '', ...question },
    await world.stage.as(viewer),
  );
  expect(filter).toMatchObject({ tagIds: carried, tagTerms: [{ ids: carried }, { ids: [] }] });
});
