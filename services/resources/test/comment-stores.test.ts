import type { Collection, Query, StoredRecord } from '@commonplace/kit/store';
import { holdJob } from '@commonplace/kit/testing';
import { openStage, type Stage } from '@commonplace/platform/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { copyComments } from '../src/comments/commands.js';
import { forgetComments } from '../src/comments/forget.js';
import type { CommentParts } from '../src/comments/parts.js';
import {
  COMMENT_ORDER,
  type Comment,
  commentCollection,
  THREAD_ORDER,
  type Thread,
  threadCollection,
} from '../src/comments/records.js';
import { uncomment } from '../src/comments/uncomment.js';
import { withComments } from '../src/copies/copy.js';
import type { Node } from '../src/domain/node.js';
import { jobCollection, type TreeJob, treeJobQueue } from '../src/nodes/jobs.js';
import { nodeCollection } from '../src/nodes/records.js';
import { type TagUsage, tagUsageCollection } from '../src/nodes/tag-usage.js';
import { resources } from '../src/service.js';
import { type Tag, tagCollection } from '../src/tags/records.js';

let stage: Stage;
let comments: Collection<Comment>;
let threads: Collection<Thread>;
let jobs: Collection<TreeJob>;
let tags: Collection<Tag>;
let usage: Collection<TagUsage>;
let nodes: Collection<Node>;

beforeAll(async () => {
  stage = await openStage(resources, []);
  const { store } = stage.host;
  comments = await store.collection(commentCollection);
  threads = await store.collection(threadCollection);
  jobs = await store.collection(jobCollection);
  tags = await store.collection(tagCollection);
  usage = await store.collection(tagUsageCollection);
  nodes = await store.collection(nodeCollection);
});
afterAll(() => stage.close());

test('every query has an index', async () => {
  const asks = <T extends StoredRecord>(of: Collection<T>, ...queries: Omit<Query<T>, 'limit'>[]) =>
    queries.map(async (query) => ({ query, ...(await of.explain({ limit: 10, ...query })) }));
  const sort = COMMENT_ORDER;
  const explained = await Promise.all([
    ...asks(
      comments,
      { where: { resourceId: 'a' }, sort },
      { where: { resourceId: 'a' }, sort: ['-threadAt', '-threadId', '-createdAt'] },
      { where: { resourceId: 'a', status: 'open' }, sort },
      { where: { resourceId: 'a', status: 'open', threadId: 't' }, sort: THREAD_ORDER },
      { where: { threadId: 't' }, sort: ['createdAt'] },
      { where: { threadId: 't' }, sort: ['-createdAt'] },
      { where: { resourceId: { in: ['a', 'b'] } } },
    ),
    ...asks(threads, { where: { resourceId: { in: ['a', 'b'] } } }),
    ...asks(
      tags,
      { where: { nameKey: { in: ['a', 'b'] } } },
      { where: { workspaceId: 'w', mergedInto: { exists: false }, nameFold: { substring: 'x' } }, sort: ['nameFold'] },
      { where: { nameFold: 'x', workspaceId: { in: ['a', 'b'] }, mergedInto: { exists: false } } },
      { where: { mergedInto: { in: ['a', 'b'] } } },
    ),
    ...asks(usage, { where: { workspaceId: 'w', tagId: { in: ['a', 'b'] } } }, { where: { tagId: 'a' } }),
    ...asks(
      nodes,
      { where: { tags: { contains: 'a' } } },
      { where: { workspaceId: 'w', state: 'active', tags: { containsAny: ['a', 'b'] } }, sort: ['position'] },
    ),
  ]);
  expect(explained.filter(({ indexed }) => !indexed)).toEqual([]);
});

async function fill(resourceId: string, count: number): Promise<void> {
  const work = stage.host.store.begin();
  const by = { type: 'user', id: 'u', name: 'U' } as const;
  const at = new Date().toISOString();
  for (let i = 0; i < count; i++) {
    const id = `${resourceId}-${i}`;
    const common = { id, tenant: 't', resourceId, status: 'open' } as const;
    const texts = { body: 'x', author: by, authorId: 'u', mentions: [], reactions: [] };
    const times = { threadAt: at, createdAt: at, updatedAt: at, updatedBy: by };
    work.insert(comments, { ...common, ...texts, ...times, threadId: id });
    work.insert(threads, { ...common, replies: 0 });
  }
  await work.commit();
}

test.each([
  ['few in the same unit of work', 40],
  ['many by a job', 1200],
])('deletes the comments on purged documents: %s', async (_, count) => {
  const { store } = stage.host;
  const parts = { store, comments, threads, jobs } as CommentParts;
  const ids = [`gone-${count}`, `also-${count}`];
  await fill(ids[0] as string, count);
  await fill(`kept-${count}`, 3);
  const work = store.begin();
  const purged = ids.map((id) => ({ id, type: 'document', tenant: 't', workspaceId: 'w' }) as Node);
  await forgetComments(parts, work, purged);
  await work.commit();
  const queued = await jobs.find({ where: { createdAt: { gt: '' } }, sort: ['createdAt'], limit: 10 });
  expect(queued.map(({ headId }) => headId)).toEqual(count > 500 ? [ids[0]] : []);
  for (const job of queued) await uncomment(parts, await holdJob(parts.store, treeJobQueue, job));
  const resourceId = { in: ids };
  expect([await comments.count({ resourceId }), await threads.count({ resourceId })]).toEqual([0, 0]);
  expect(await jobs.count({ createdAt: { gt: '' } })).toBe(0);
  expect(await comments.count({ resourceId: `kept-${count}` })).toBe(3);
});

test('a copy has the current threads, without reactions', async () => {
  const { store } = stage.host;
  const parts = { store, comments, threads, jobs } as CommentParts;
  const from = { id: 'original' } as Node;
  const by = { type: 'user', id: 'u', name: 'U' } as const;
  const work = store.begin();
  const put = (id: string, threadId: string, minute: number, more: Partial<Comment> = {}) => {
    const at = (of: number) => `2026-01-01T00:0${of}:00.000Z`;
    const times = { threadAt: at(threadId === 'h1' ? 1 : 2), createdAt: at(minute), updatedAt: at(minute) };
    const texts = { body: id, author: by, authorId: 'u', mentions: [], updatedBy: by, status: 'open' } as const;
    const reactions = [{ emoji: '👍', users: ['u'] }];
    work.insert(comments, {
      id,
      tenant: 't',
      resourceId: 'original',
      threadId,
      ...texts,
      ...times,
      reactions,
      ...more,
    });
  };
  put('h2', 'h2', 2);
  put('h1', 'h1', 1, { body: undefined });
  put('r1', 'h1', 4, { parentId: 'h1' });
  put('r2', 'h2', 3, { parentId: 'h2' });
  await work.commit();
  const copying = store.begin();
  await copyComments(parts, from, { id: 'copy', tenant: 't2' }, { work: copying });
  await copying.commit();
  const copied = await comments.find({ where: { resourceId: 'copy' }, sort: COMMENT_ORDER, limit: 10 });
  const [first, reply, second] = copied;
  expect(copied.map(({ body }) => body)).toEqual([undefined, 'r1', 'h2', 'r2']);
  expect(reply).toMatchObject({ threadId: first?.id, parentId: first?.id, reactions: [], tenant: 't2' });
  expect(second?.threadId).toBe(second?.id);
  expect(await threads.get(first?.id as string)).toMatchObject({ resourceId: 'copy', replies: 1, status: 'open' });
});

test('a copy of many comments reads some at a time, and lets others run in between', async () => {
  await fill('copied', 450);
  let turns = 0;
  let [counting, most] = [true, 0];
  const count = () => {
    turns++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  // Each read takes as long as a slice of work on the event loop may.
  const find = async (query: Query<Comment>) => {
    most = Math.max(most, query.limit);
    const until = performance.now() + 2;
    while (performance.now() < until);
    return comments.find(query);
  };
  const work = stage.host.store.begin();
  const parts = { comments: { ...comments, find }, threads } as unknown as CommentParts;
  await copyComments(parts, { id: 'copied' }, { id: 'large-copy', tenant: 't' }, { work });
  counting = false;
  await work.commit();
  expect(await comments.count({ resourceId: 'large-copy' })).toBe(450);
  expect(await threads.count({ resourceId: 'large-copy' })).toBe(450);
  expect(most).toBeLessThanOrEqual(200);
  expect(turns).toBeGreaterThanOrEqual(2);
});

test('comments count towards what a copy writes at a time', async () => {
  await fill('commented', 12);
  const size = { type: 'document', sizeBytes: 5 } as const;
  const sizes = [
    { id: 'commented', ...size },
    { id: 'bare', ...size },
    { id: 'table', type: 'table', sizeBytes: 7 } as const,
  ];
  expect((await withComments({ comments }, sizes)).map(({ sizeBytes }) => sizeBytes)).toEqual([5 + 12 * 1024, 5, 7]);
});
