import type { Caller } from '@commonplace/kit/auth';
import type { Reply } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { CreateCommentRequest, ListCommentsRequest } from '@commonplace/proto/resources/v1/comment_service.js';
import {
  ArtifactType,
  GetContentRequest,
  ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { CopyResourceRequest, CopyStatus, SkipReason } from '@commonplace/proto/resources/v1/copy_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { ListResourcesRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { ListTagsRequest } from '@commonplace/proto/resources/v1/tag_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openWorld, type World } from './stage.js';

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const DOCUMENT = { type: ResourceType.DOCUMENT };

/** With a limit of 2, copies of two resources or more finish in a job, so that both paths are tested. */
const SIZES = { 'within the request': '200', 'after the answer': '2' };

describe.each(Object.entries(SIZES))('a copy %s', (_, limit) => {
  let world: World;
  let owner: Caller;
  let editor: Caller;
  let viewer: Caller;
  let stranger: Caller;
  beforeAll(async () => {
    process.env.COMMONPLACE_INLINE_COPY = limit;
    world = await openWorld();
    owner = world.member(WorkspaceRole.OWNER);
    editor = world.member(WorkspaceRole.EDITOR);
    viewer = world.member(WorkspaceRole.VIEWER);
    stranger = world.member(WorkspaceRole.EDITOR);
  });
  afterAll(async () => {
    delete process.env.COMMONPLACE_INLINE_COPY;
    await world.stage.close();
  });

  const copy = async (
    resourceId: string,
    fields: Partial<CopyResourceRequest> = {},
    caller = editor,
    reply: Reply = {},
  ) => {
    const request = CopyResourceRequest.fromPartial({ resourceId, ...fields });
    return world.copies.copyResource(request, await world.stage.as(caller, {}, reply));
  };
  /** Copies like `copy`, and waits until everything is copied. */
  const whole = async (resourceId: string, fields: Partial<CopyResourceRequest> = {}, caller = editor) => {
    const copied = await copy(resourceId, fields, caller);
    const id = copied.resource?.id as string;
    await eventually(async () => expect((await below(id, caller)).length).toBe(copied.copiedCount - 1));
    return { ...copied, id };
  };
  const below = async (parentId: string, caller = owner, workspaceId = world.workspaceId) => {
    const page = { limit: 200, offset: 0, cursor: '' };
    const request = ListResourcesRequest.fromPartial({ workspaceId, parentId, recursive: true, page });
    const { items } = await world.resources.listResources(request, await world.stage.as(caller));
    return items;
  };
  const text = async (id: string, caller = owner) => {
    const answer = await world.content.getContent(
      GetContentRequest.fromPartial({ resourceId: id }),
      await world.stage.as(caller),
    );
    return JSON.parse(answer.content.toString() || 'null') as unknown;
  };
  /** Creates head > (a > a1 > a2), b: five resources. */
  async function grow(at: object = {}) {
    const head = await world.create(editor, { name: 'head', ...at });
    const a = await world.create(editor, { name: 'a', parentId: head.id, ...DOCUMENT, content: json('A\n') });
    const a1 = await world.create(editor, { name: 'a1', parentId: a.id });
    const a2 = await world.create(editor, { name: 'a2', parentId: a1.id, ...DOCUMENT, content: json('A2 *text*\n') });
    const b = await world.create(editor, { name: 'b', parentId: head.id });
    return { head, a, a1, a2, b };
  }
  const byName = async (id: string, name: string) => (await below(id)).find((one) => one.name === name);

  test('has all descendants, and is a sibling of its source', async () => {
    const { head, a, a2 } = await grow();
    const before = (await world.list(owner)).total;
    const { id, resource, copiedCount, skippedCount } = await whole(head.id);
    expect(resource).toMatchObject({
      name: 'head copy',
      parentId: undefined,
      version: 1,
      createdBy: { id: editor.userId },
    });
    expect([copiedCount, skippedCount]).toEqual([5, 0]);
    const copies = await below(id);
    expect(copies.map(({ name }) => name).sort()).toEqual(['a', 'a1', 'a2', 'b']);
    const copyOfA2 = copies.find(({ name }) => name === 'a2');
    expect(copyOfA2?.id).not.toBe(a2.id);
    const { path } = await world.get(owner, copyOfA2?.id as string);
    expect(path?.items.map(({ name }) => name)).toEqual(['head copy', 'a', 'a1']);
    expect(await text(copyOfA2?.id as string)).toBe('A2 *text*\n');
    expect(copyOfA2?.sizeBytes).toBe(a2.sizeBytes);
    expect((await below(head.id)).map(({ id }) => id)).toContain(a.id);
    await eventually(async () => expect((await world.list(owner)).total).toBe(before + 5));
  });

  test('reports whether it is complete', async () => {
    const { head } = await grow();
    const reply: Reply = {};
    const { status, resource } = await copy(head.id, {}, editor, reply);
    const running = limit === '2';
    expect([status, reply.status]).toEqual(running ? [CopyStatus.RUNNING, 202] : [CopyStatus.COMPLETED, undefined]);
    expect(resource?.childCount).toBe(running ? 0 : 2);
    await eventually(async () => expect((await world.get(owner, resource?.id as string)).childCount).toBe(2));
  });

  test('is created at the requested place', async () => {
    const { head } = await grow();
    const target = await world.create(editor, { name: 'target' });
    const first = await world.create(editor, { name: 'first', parentId: target.id });
    const put = { parentId: target.id, name: 'New', position: json('first'), includeChildren: false };
    const { resource } = await copy(head.id, put);
    const listed = await world.list(editor, { parentId: target.id, sort: 'position' });
    expect(listed.ids).toEqual([resource?.id, first.id]);
    expect(listed.names[0]).toBe('New');
    const elsewhere = await copy(head.id, { workspaceId: world.otherWorkspaceId, includeChildren: false });
    expect(elsewhere.resource).toMatchObject({ workspaceId: world.otherWorkspaceId, parentId: undefined });
    const wrong = copy(head.id, { workspaceId: world.otherWorkspaceId, parentId: target.id });
    await expect(wrong).rejects.toMatchObject({ reason: 'invalid_value' });
  });

  test('in another workspace keeps its folders', async () => {
    const { head } = await grow();
    const { resource } = await copy(head.id, { workspaceId: world.otherWorkspaceId });
    const id = resource?.id as string;
    await eventually(async () => {
      const copies = await below(id, owner, world.otherWorkspaceId);
      expect(copies.map(({ name }) => name).sort()).toEqual(['a', 'a1', 'a2', 'b']);
    });
  });

  test('may be below its source, and does not copy itself', async () => {
    const { head, a1 } = await grow();
    const { copiedCount, id } = await whole(head.id, { parentId: a1.id });
    expect(copiedCount).toBe(5);
    const again = await whole(head.id, { parentId: head.id });
    expect(again.copiedCount).toBe(10);
    expect((await below(id)).length).toBe(4);
  });

  test('has neither external id nor lock nor restriction, but description and metadata', async () => {
    const source = await world.create(editor, {
      name: 'x'.repeat(255),
      externalId: `e-${limit}`,
      description: 'Words',
      icon: '📎',
      metadata: json({ a: 1 }),
      accessMode: AccessMode.RESTRICTED,
    });
    await world.update(editor, source.id, { updateMask: ['is_locked'], isLocked: true });
    const { resource } = await copy(source.id);
    expect(resource).toMatchObject({
      name: `${'x'.repeat(250)} copy`,
      externalId: undefined,
      description: 'Words',
      icon: '📎',
      isLocked: false,
      accessMode: AccessMode.INHERIT,
    });
    expect(resource?.metadata.toString()).toBe('{"a":1}');
    expect((await world.get(stranger, resource?.id as string)).name).toBe(resource?.name);
  });

  test('leaves out resources that the caller may not read, and counts them', async () => {
    const { head, a1 } = await grow();
    const secret = { accessMode: AccessMode.RESTRICTED, parentId: a1.id };
    const hidden = await world.create(editor, { name: 'secret', ...secret });
    const inside = await world.create(editor, { name: 'secret too', parentId: hidden.id });
    const { copiedCount, skipped, skippedCount, id } = await whole(head.id, {}, stranger);
    expect([copiedCount, skippedCount]).toEqual([5, 2]);
    expect(skipped.map((one) => one.id).sort()).toEqual([hidden.id, inside.id].sort());
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set([SkipReason.NOT_READABLE]));
    expect((await below(id)).map(({ name }) => name).sort()).toEqual(['a', 'a1', 'a2', 'b']);
    // A caller who may read it gets a copy, open like its new place.
    const mine = await whole(head.id, { name: 'Mine' }, editor);
    expect([mine.copiedCount, mine.skippedCount]).toEqual([7, 0]);
    const kept = (await below(mine.id)).find(({ name }) => name === 'secret');
    expect(kept?.accessMode).toBe(AccessMode.RESTRICTED);
    expect((await below(mine.id, stranger)).map(({ name }) => name)).not.toContain('secret');
  });

  test('leaves out what is in the trash', async () => {
    const { head, a } = await grow();
    await world.remove(editor, a.id);
    const { copiedCount, id } = await whole(head.id);
    expect(copiedCount).toBe(2);
    expect((await below(id)).map(({ name }) => name)).toEqual(['b']);
  });

  test('refers to its own parts where the source does', async () => {
    const outside = await world.create(editor, { name: 'outside' });
    const head = await world.create(editor, { name: 'head' });
    const target = await world.create(editor, { name: 'target', parentId: head.id, ...DOCUMENT });
    const words = `See [it](resource:${target.id}), [that](resource:${outside.id}) and \`${head.id}\`.\n`;
    await world.create(editor, { name: 'links', parentId: head.id, ...DOCUMENT, content: json(words) });
    const assets = [{ name: 'it', resourceId: target.id }];
    const artifact = await world.create(editor, { name: 'art', parentId: head.id, type: ResourceType.ARTIFACT });
    await world.content.replaceContent(
      ReplaceContentRequest.fromPartial({
        resourceId: artifact.id,
        artifactType: ArtifactType.HTML,
        source: '<p>',
        assets,
      }),
      await world.stage.as(editor),
    );
    const { id } = await whole(head.id);
    const copied = await byName(id, 'target');
    const links = await byName(id, 'links');
    expect(await text(links?.id as string)).toBe(words.replace(target.id, copied?.id as string));
    const art = await world.content.getContent(
      GetContentRequest.fromPartial({ resourceId: (await byName(id, 'art'))?.id as string }),
      await world.stage.as(editor),
    );
    expect(art.assets).toEqual([{ name: 'it', resourceId: copied?.id }]);
  });

  test('requires read access to the source and write access to the destination', async () => {
    const { head, a } = await grow();
    const personal = await world.create(owner, { name: 'own', parentId: undefined, workspaceId: world.personalId });
    const outsider = world.member(WorkspaceRole.UNSPECIFIED);
    world.setRole(outsider, undefined);
    await expect(copy(head.id, {}, outsider)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(copy(a.id, {}, viewer)).rejects.toMatchObject({ reason: 'insufficient_role' });
    await expect(copy(personal.id, {}, editor)).rejects.toMatchObject({ reason: 'not_found' });
    const across = copy(personal.id, { workspaceId: world.workspaceId }, owner);
    await expect(across).rejects.toMatchObject({ reason: 'tenant_boundary' });
    const locked = await world.create(editor, { name: 'locked' });
    await world.update(owner, locked.id, { updateMask: ['is_locked'], isLocked: true });
    await expect(copy(a.id, { parentId: locked.id })).rejects.toMatchObject({ reason: 'resource_locked' });
    const gone = await world.create(editor, { name: 'gone' });
    await world.remove(editor, gone.id);
    await expect(copy(a.id, { parentId: gone.id })).rejects.toMatchObject({ reason: 'resource_in_trash' });
    await expect(copy(gone.id)).rejects.toMatchObject({ reason: 'resource_in_trash' });
    const art = await world.create(editor, { name: 'art', type: ResourceType.ARTIFACT });
    await expect(copy(a.id, { parentId: art.id })).rejects.toMatchObject({ reason: 'parent_not_container' });
    await expect(copy(a.id, { position: json('middle') })).rejects.toMatchObject({ reason: 'invalid_value' });
  });

  test('is refused in an archived workspace', async () => {
    const { head } = await grow();
    world.archive(true);
    await world.get(owner, head.id);
    await expect(copy(head.id)).rejects.toMatchObject({ reason: 'workspace_archived' });
    await copy(head.id, { workspaceId: world.otherWorkspaceId });
    world.archive(false);
    await world.get(owner, head.id);
  });

  test('is refused if the tree would be too deep', async () => {
    let parent = await world.create(editor, { name: '1' });
    const top = parent;
    for (let level = 2; level <= 31; level++) {
      parent = await world.create(editor, { name: `${level}`, parentId: parent.id });
    }
    const { head } = await grow();
    await expect(copy(head.id, { parentId: parent.id })).rejects.toMatchObject({ reason: 'depth_exceeded' });
    await copy(head.id, { parentId: parent.id, includeChildren: false });
    const deep = await whole(top.id);
    expect(deep.copiedCount).toBe(32);
  });

  test('has the tags of its sources, in another workspace those of the same names', async () => {
    const [both, own] = [`both ${limit}`, `own ${limit}`];
    const theirs = await world.create(editor, { workspaceId: world.otherWorkspaceId, tags: [both.toUpperCase()] });
    const head = await world.create(editor, { tags: [both, own] });
    const child = await world.create(editor, { parentId: head.id, name: 'child', tags: [own] });
    const near = await whole(head.id);
    expect(near.resource?.tags).toEqual(head.tags);
    expect((await byName(near.id, 'child'))?.tags).toEqual(child.tags);
    const { resource } = await copy(head.id, { workspaceId: world.otherWorkspaceId });
    const [first, second] = resource?.tags ?? [];
    expect(first).toBe(theirs.tags[0]);
    expect(head.tags).not.toContain(second);
    await eventually(async () => {
      const [there] = await below(resource?.id as string, owner, world.otherWorkspaceId);
      expect(there?.tags).toEqual([second]);
    });
    const listed = await world.stage.host.client(contracts.tags).listTags(
      ListTagsRequest.fromPartial({
        workspaceId: world.otherWorkspaceId,
        page: { limit: 50, offset: 0, cursor: '' },
      }),
      await world.stage.as(editor),
    );
    expect(listed.items.find(({ name }) => name === own)).toMatchObject({ id: second, usageCount: 2 });
  });

  test('copies comments on request, without notifying anyone', async () => {
    const comments = world.stage.host.client(contracts.comments);
    const notified: string[] = [];
    const options = { consumer: `copy-comments-${limit}`, types: ['commonplace.resources.comment.>'] };
    const subscription = await world.stage.host.bus.subscribe(options, async (events) => {
      notified.push(...events.map(({ subject }) => subject));
    });
    const head = await world.create(editor, { name: 'head' });
    const page = await world.create(editor, {
      name: 'page',
      parentId: head.id,
      ...DOCUMENT,
      content: json('One two.'),
    });
    const request = CreateCommentRequest.fromPartial({ resourceId: page.id, body: 'Why?', anchor: { quote: 'two' } });
    await comments.createComment(request, await world.stage.as(editor));
    const on = async (resourceId: string) => {
      const paged = { limit: 50, offset: 0, cursor: '' };
      const request = ListCommentsRequest.fromPartial({ resourceId, page: paged });
      return (await comments.listComments(request, await world.stage.as(viewer))).items;
    };
    const bare = await whole(head.id);
    expect(await on((await byName(bare.id, 'page'))?.id as string)).toEqual([]);
    const full = await whole(head.id, { includeComments: true });
    const copyOfPage = (await byName(full.id, 'page'))?.id as string;
    const [comment] = await on(copyOfPage);
    expect(comment).toMatchObject({ body: 'Why?', author: { id: editor.userId }, anchor: { quote: 'two' } });
    expect(comment?.anchor?.state).toBe((await on(page.id))[0]?.anchor?.state);
    await eventually(() => expect(notified).toContain(page.id));
    expect(notified).not.toContain(copyOfPage);
    await subscription.close();
  });

  test('is published completely', async () => {
    const seen: string[] = [];
    const types = ['commonplace.resources.resource.created'];
    const consumer = `copy-test-${limit}`;
    const subscription = await world.stage.host.bus.subscribe({ consumer, types }, async (events) => {
      for (const { data } of events) seen.push(...(data.resourceIds as string[]));
    });
    const { head } = await grow();
    const { id } = await whole(head.id);
    const ids = [id, ...(await below(id)).map((one) => one.id)];
    await eventually(() => expect(ids.filter((one) => !seen.includes(one))).toEqual([]));
    await subscription.close();
  });
});
