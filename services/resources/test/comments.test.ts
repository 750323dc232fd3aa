import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { CallMetadata, Client, Reply } from '@commonplace/kit/rpc';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import {
  AnchorState,
  type Comment,
  type CommentService,
  CommentStatus,
  CommentStatusFilter,
  CreateCommentRequest,
  ListCommentsRequest,
  UpdateCommentRequest,
} from '@commonplace/proto/resources/v1/comment_service.js';
import { ReplaceContentRequest } from '@commonplace/proto/resources/v1/content_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { playClock } from './clock.js';
import { openWorld, type World } from './stage.js';

let world: World;
let comments: Client<CommentService>;
let boss: Caller;
let editor: Caller;
let commenter: Caller;
let other: Caller;
let viewer: Caller;
const events: DomainEvent[] = [];
let resourceId: string;

beforeAll(async () => {
  world = await openWorld();
  comments = world.stage.host.client(contracts.comments);
  boss = world.member(WorkspaceRole.ADMIN);
  editor = world.member(WorkspaceRole.EDITOR);
  commenter = world.member(WorkspaceRole.COMMENTER);
  other = world.member(WorkspaceRole.COMMENTER);
  viewer = world.member(WorkspaceRole.VIEWER);
  const options = { consumer: 'comments-test', types: ['commonplace.resources.comment.>'] };
  await world.stage.host.bus.subscribe(options, async (some) => {
    events.push(...some);
  });
});
beforeEach(async () => {
  const content = Buffer.from(JSON.stringify('First words.\n\nA quick brown\nfox jumps.\n'));
  resourceId = (await world.create(editor, { type: ResourceType.DOCUMENT, content })).id;
});
afterAll(() => world.stage.close());

type Given = Partial<Parameters<typeof CreateCommentRequest.fromPartial>[0]>;

async function say(fields: Given, caller = commenter, reply: Reply = {}): Promise<Comment> {
  const request = CreateCommentRequest.fromPartial({ resourceId, body: 'Words', ...fields });
  return comments.createComment(request, await world.stage.as(caller, {}, reply));
}

async function change(
  commentId: string,
  fields: Partial<UpdateCommentRequest>,
  caller = commenter,
  metadata: Partial<CallMetadata> = {},
) {
  const updateMask = Object.keys(fields);
  const request = UpdateCommentRequest.fromPartial({ resourceId, commentId, ...fields, updateMask });
  return comments.updateComment(request, await world.stage.as(caller, metadata));
}

async function remove(commentId: string, caller = commenter) {
  return comments.deleteComment({ resourceId, commentId }, await world.stage.as(caller));
}

async function list(fields: Partial<ListCommentsRequest> = {}, caller = viewer) {
  const page = { limit: 200, offset: 0, cursor: '' };
  const request = ListCommentsRequest.fromPartial({ resourceId, page, ...fields });
  return comments.listComments(request, await world.stage.as(caller));
}

const bodies = (items: readonly Comment[]) => items.map(({ body }) => body);

/** Waits for the last event of a type about a comment, and returns its data. */
async function publishedData(verb: string, commentId: string): Promise<DomainEvent['data']> {
  return eventually(() => {
    const type = `commonplace.resources.comment.${verb}`;
    const event = events.findLast((one) => one.type === type && one.data.commentId === commentId);
    expect(event).toBeDefined();
    return (event as DomainEvent).data;
  });
}

describe('threads', () => {
  test('are in the order in which they began, each with its replies', async () => {
    const one = await say({ body: 'One' });
    const two = await say({ body: 'Two' });
    const reply = await say({ body: 'One a', parentCommentId: one.id });
    await say({ body: 'One b', parentCommentId: reply.id });
    expect(reply).toMatchObject({ threadId: one.id, parentCommentId: one.id, status: CommentStatus.OPEN });
    expect(two).toMatchObject({ threadId: two.id, parentCommentId: undefined, version: 1, isDeleted: false });
    const { items, page } = await list();
    expect(bodies(items)).toEqual(['One', 'One a', 'One b', 'Two']);
    expect(page?.total).toBe(4);
    expect(items[2]?.parentCommentId).toBe(one.id);
    expect(bodies((await list({ threadId: two.id })).items)).toEqual(['Two']);
  });

  test('are read page by page', async () => {
    for (const body of ['1', '2', '3']) await say({ body });
    const seen: (string | undefined)[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { items, page }: Awaited<ReturnType<typeof list>> = await list({ page: { limit: 2, offset: 0, cursor } });
      seen.push(...bodies(items));
      cursor = page?.nextCursor;
    }
    expect(seen).toEqual(['1', '2', '3']);
  });

  test('are resolved as a whole by their author or an editor, and reopened', async () => {
    const head = await say({ body: 'Head' });
    const reply = await say({ body: 'Reply', parentCommentId: head.id }, other);
    await expect(change(head.id, { status: CommentStatus.RESOLVED }, other)).rejects.toMatchObject({
      reason: 'insufficient_role',
    });
    const resolved = await change(reply.id, { status: CommentStatus.RESOLVED }, editor);
    expect(resolved).toMatchObject({ status: CommentStatus.RESOLVED, resolvedBy: { id: editor.userId } });
    const of = (status: CommentStatusFilter) => list({ status });
    expect(bodies((await of(CommentStatusFilter.RESOLVED)).items)).toEqual(['Head', 'Reply']);
    expect((await of(CommentStatusFilter.OPEN)).items).toEqual([]);
    const late = await say({ body: 'Late', parentCommentId: head.id }, other);
    expect(late.status).toBe(CommentStatus.RESOLVED);
    const { participants } = await publishedData('resolved', reply.id);
    expect([...(participants as string[])].sort()).toEqual([commenter.userId, other.userId].sort());
    await change(head.id, { status: CommentStatus.OPEN });
    const open = await of(CommentStatusFilter.OPEN);
    expect(bodies(open.items)).toEqual(['Head', 'Reply', 'Late']);
    expect(open.items[0]).toMatchObject({ resolvedBy: undefined, resolvedAt: undefined });
  });
});

describe('permissions', () => {
  test('viewers read, commenters write, and only documents have comments', async () => {
    await expect(say({}, viewer)).rejects.toMatchObject({ reason: 'insufficient_role' });
    const folder = await world.create(editor, {});
    await expect(say({ resourceId: folder.id })).rejects.toMatchObject({ reason: 'not_a_document' });
    await expect(list({ resourceId: folder.id })).rejects.toMatchObject({ reason: 'not_a_document' });
  });

  test('only the author edits a body; a manager may delete it too', async () => {
    const { id } = await say({ body: 'Mine' });
    await expect(change(id, { body: 'Yours' }, boss)).rejects.toMatchObject({ reason: 'insufficient_role' });
    await expect(remove(id, editor)).rejects.toMatchObject({ reason: 'insufficient_role' });
    const edited = await change(id, { body: 'Still mine' });
    expect(edited).toMatchObject({ body: 'Still mine', version: 2, editedAt: expect.any(String) });
    await remove(id, boss);
    expect((await list()).items).toEqual([]);
  });

  test('no one writes in an archived workspace; a locked document accepts comments', async () => {
    await world.update(boss, resourceId, { updateMask: ['is_locked'], isLocked: true });
    const { id } = await say({});
    world.archive(true);
    await world.get(editor, resourceId);
    await expect(say({})).rejects.toMatchObject({ reason: 'workspace_archived' });
    await expect(remove(id)).rejects.toMatchObject({ reason: 'workspace_archived' });
    world.archive(false);
    await world.get(editor, resourceId);
  });

  test('a comment on another document is not found', async () => {
    const { id } = await say({});
    const elsewhere = await world.create(editor, { type: ResourceType.DOCUMENT });
    const request = { resourceId: elsewhere.id, commentId: id };
    const result = comments.deleteComment(request, await world.stage.as(commenter));
    await expect(result).rejects.toMatchObject({ reason: 'not_found' });
  });
});

describe('a change', () => {
  test('with a stale version is refused', async () => {
    const { id } = await say({});
    await change(id, { body: 'Newer' }, commenter, { baseVersion: 1 });
    const stale = change(id, { body: 'Older' }, commenter, { baseVersion: 1 });
    await expect(stale).rejects.toMatchObject({ reason: 'version_conflict' });
  });

  test('under an Idempotency-Key is made once', async () => {
    const idempotency = { id: newId(), fingerprint: 'a' };
    const request = CreateCommentRequest.fromPartial({ resourceId, body: 'Once' });
    const first = await comments.createComment(request, await world.stage.as(commenter, { idempotency }));
    const again = await comments.createComment(request, await world.stage.as(commenter, { idempotency }));
    expect(again.id).toBe(first.id);
    expect((await list()).items).toHaveLength(1);
  });

  test('of reactions affects only the caller’s own', async () => {
    const { id } = await say({});
    await change(id, { reactions: ['👍', '🎉'] }, other);
    await change(id, { reactions: ['👍'] });
    const { reactions, editedAt } = (await list({}, other)).items[0] as Comment;
    expect(reactions).toEqual([
      { emoji: '👍', count: 2, me: true },
      { emoji: '🎉', count: 1, me: true },
    ]);
    expect(editedAt).toBeUndefined();
    await change(id, { reactions: [] }, other);
    expect((await list()).items[0]?.reactions).toEqual([{ emoji: '👍', count: 1, me: false }]);
    const words = change(id, { reactions: ['👍', 'no'] });
    await expect(words).rejects.toMatchObject({ reason: 'invalid_value', param: 'reactions[1]' });
  });
});

describe('a deletion', () => {
  test('keeps a first comment without its body while it has replies', async () => {
    const head = await say({ body: 'Head', anchor: { quote: 'First' } });
    const reply = await say({ body: 'Reply', parentCommentId: head.id }, other);
    await remove(head.id);
    const [left] = (await list()).items;
    expect(left).toMatchObject({ id: head.id, isDeleted: true, body: undefined, bodyHtml: undefined });
    expect(left?.anchor?.quote).toBe('First');
    await expect(change(head.id, { body: 'Back' })).rejects.toMatchObject({ reason: 'not_found' });
    await say({ body: 'More', parentCommentId: head.id });
    await remove(reply.id, other);
    expect((await list()).items).toHaveLength(2);
    await remove((await list()).items[1]?.id as string);
    expect((await list()).items).toEqual([]);
  });

  test('and a concurrent reply leave no reply without a first comment', async () => {
    for (let round = 0; round < 5; round++) {
      const head = await say({ body: 'Head' });
      await Promise.allSettled([remove(head.id), say({ body: 'Reply', parentCommentId: head.id }, other)]);
      const { items } = await list({ threadId: head.id });
      expect(items.map(({ id }) => id).includes(head.id)).toBe(items.length > 0);
    }
  });

  test('of all comments of a thread at once leaves nothing', async () => {
    for (let round = 0; round < 5; round++) {
      const head = await say({ body: 'Head' });
      const reply = await say({ body: 'Reply', parentCommentId: head.id });
      await Promise.all([remove(head.id), remove(reply.id)]);
    }
    expect((await list()).items).toEqual([]);
  });
});

describe('mentions', () => {
  const mention = ({ userId, userName }: Caller) => `@[${userName}](user:${userId})`;

  test('include those given and those in the body who can read the document', async () => {
    const reply: Reply = {};
    const stranger = newId();
    const body = `Look, ${mention(other)} and ${mention(commenter)} and @[X](user:${stranger})!`;
    const { id, mentions } = await say({ body, mentions: [viewer.userId] }, commenter, reply);
    expect([...mentions].sort()).toEqual([viewer.userId, other.userId, commenter.userId].sort());
    expect(reply.warnings).toMatchObject([{ code: 'mention_not_notified' }]);
    const data = await publishedData('created', id);
    expect([...(data.mentions as string[])].sort()).toEqual([viewer.userId, other.userId].sort());
    expect(data).toMatchObject({ resourceId, workspaceId: world.workspaceId, authorId: commenter.userId });
  });

  test('on a restricted document reach only its readers', async () => {
    await world.update(boss, resourceId, { updateMask: ['access_mode'], accessMode: AccessMode.RESTRICTED });
    const { mentions } = await say({ body: mention(other) }, boss);
    expect(mentions).toEqual([]);
  });

  test('of an edit notify only new people, and a reply notifies the thread', async () => {
    const head = await say({ body: `${mention(other)}` });
    await change(head.id, { body: `${mention(other)} ${mention(viewer)}` });
    expect((await publishedData('updated', head.id)).mentions).toEqual([viewer.userId]);
    const reply = await say({ body: 'Yes', parentCommentId: head.id }, other);
    expect(await publishedData('created', reply.id)).toMatchObject({ participants: [commenter.userId], mentions: [] });
    await remove(reply.id, other);
    expect(await publishedData('deleted', reply.id)).toMatchObject({ threadId: head.id, actorId: other.userId });
  });

  test('in code do not count', async () => {
    expect((await say({ body: `\`${mention(other)}\`` })).mentions).toEqual([]);
  });

  test('are limited to 50', async () => {
    const body = Array.from({ length: 51 }, () => `@[x](user:${newId()})`).join(' ');
    await expect(say({ body })).rejects.toMatchObject({ reason: 'too_many_items' });
  });
});

describe('an anchor', () => {
  const write = async (text: string) => {
    const content = Buffer.from(JSON.stringify(text));
    const request = ReplaceContentRequest.fromPartial({ resourceId, content });
    await world.content.replaceContent(request, await world.stage.as(editor));
  };

  test('is active while its passage exists, and again when the passage is restored', async () => {
    const { anchor } = await say({ anchor: { quote: 'brown fox', prefix: 'quick ' } });
    expect(anchor).toMatchObject({ quote: 'brown fox', prefix: 'quick ', state: AnchorState.ACTIVE });
    const state = async () => (await list()).items[0]?.anchor?.state;
    await write('Something else.');
    expect(await state()).toBe(AnchorState.ORPHANED);
    await write('The quick brown fox is back.');
    expect(await state()).toBe(AnchorState.ACTIVE);
  });

  test('follows the block of its passage through edits, despite marks', async () => {
    await write('# Title\n\nThe **quick brown** fox jumps.\n\nAnother paragraph.\n');
    const { anchor } = await say({ anchor: { quote: 'quick brown fox', suffix: ' jumps' } });
    expect(anchor).toMatchObject({ blockId: expect.any(String), state: AnchorState.ACTIVE });
    await write('Before it.\n\n# Title\n\nThe **quick brownish** fox jumps.\n\nAnother paragraph.\n');
    const [comment] = (await list()).items;
    expect(comment?.anchor).toMatchObject({ blockId: anchor?.blockId, state: AnchorState.ACTIVE });
  });

  test('names the block in which its passage is now, when the document is written anew', async () => {
    await write('The quick brown fox jumps.\n');
    const { anchor: first } = await say({ anchor: { quote: 'The quick brown fox' } });
    await write('');
    expect((await list()).items[0]?.anchor).toEqual({ ...first, state: AnchorState.ORPHANED });
    await write('Yesterday: The quick brown fox, twice.\n');
    const moved = (await list()).items[0]?.anchor;
    expect(moved).toMatchObject({ quote: 'The quick brown fox', state: AnchorState.ACTIVE });
    expect(moved?.blockId).not.toBe(first?.blockId);
    const { anchor: second } = await say({ anchor: { quote: 'Yesterday' } });
    expect(second?.blockId).toBe(moved?.blockId);
  });

  test('that is not found is kept as orphaned', async () => {
    const { anchor } = await say({ anchor: { quote: 'nowhere' } });
    expect(anchor?.state).toBe(AnchorState.ORPHANED);
    const head = await say({});
    const reply = say({ parentCommentId: head.id, anchor: { quote: 'First' } });
    await expect(reply).rejects.toMatchObject({ param: 'anchor' });
  });
});

test('a body becomes safe HTML, and must not be empty', async () => {
  const { bodyHtml } = await say({ body: '**bold**\n\n<script>alert(1)</script>' });
  expect(bodyHtml).not.toContain('<script');
  expect(bodyHtml).toContain('<strong>bold</strong>');
  await expect(say({ body: ' \n ' })).rejects.toMatchObject({ reason: 'invalid_value', param: 'body' });
});

test('the index gets open and resolved comments as plain text, latest first', async () => {
  const entry = async () => {
    const { entries } = await world.index.getIndexEntries(
      { ids: [resourceId], mostBytes: 0 },
      await world.stage.as(undefined),
    );
    return entries[0];
  };
  expect((await entry())?.comments).toEqual([]);
  const first = await say({ body: 'Plain words' });
  const second = await say({ body: '**Bold** and [a link](https://example.com)' });
  await change(first.id, { status: CommentStatus.RESOLVED }, editor);
  expect((await entry())?.comments).toEqual(['Bold and a link', 'Plain words']);
  await comments.deleteComment({ resourceId, commentId: second.id }, await world.stage.as(commenter));
  expect((await entry())?.comments).toEqual(['Plain words']);
  playClock();
  try {
    for (let i = 0; i < 3; i++) await say({ body: `Reply ${i}`, parentCommentId: first.id });
  } finally {
    jest.useRealTimers();
  }
  await comments.deleteComment({ resourceId, commentId: first.id }, await world.stage.as(commenter));
  expect((await entry())?.comments).toEqual(['Reply 2', 'Reply 1', 'Reply 0']);
});
