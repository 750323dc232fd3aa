import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import type { CollectionSpec, Query, StoredRecord } from '@commonplace/kit/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApprovalRecord, approvalCollection } from '../src/stores/approvals.js';
import { type MemoryRecord, memoryCollection } from '../src/stores/memories.js';
import { type RunRecord, runCollection } from '../src/stores/runs.js';
import { type SessionRecord, sessionCollection } from '../src/stores/sessions.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

/** Returns the queries that would read a whole collection or sort all that they match, with their plans. */
async function unindexed<T extends StoredRecord>(spec: CollectionSpec<T>, queries: readonly Omit<Query<T>, 'limit'>[]) {
  const collection = await database.store('agents').collection(spec);
  const plans = await Promise.all(queries.map((query) => collection.explain({ ...query, limit: 51 })));
  return plans.flatMap(({ indexed, plan }, at) => (indexed ? [] : [[JSON.stringify(queries[at]), plan]]));
}

const NOW = '2026-01-01T00:00:00.000Z';
/** More than the values of which SQLite unites a statement for each. */
const MANY = Array.from({ length: 100 }, (_, n) => `id ${n}`);
const unexpired = { or: [{ expiresAt: { exists: false } }, { expiresAt: { gt: NOW } }] };

test('lists of chat sessions are read in order', async () => {
  const [own, shared] = [{ ownerId: 'u' }, { visibility: 'workspace' }];
  const places = [{ workspaceId: { in: MANY } }, { workspaceId: { exists: false }, orgId: { in: MANY } }];
  const or = [own, shared].flatMap((whose) => places.map((place) => ({ ...whose, ...place })));
  const queries: Omit<Query<SessionRecord>, 'limit'>[] = [
    { where: { or }, sort: ['-lastMessageAt'] },
    { where: { or }, sort: ['lastMessageAt'], after: [NOW, 's'] },
    { where: { or, isArchived: false, agentId: 'a', titleFold: { substring: 'x' } }, sort: ['-lastMessageAt'] },
    { where: { or, workspaceId: 'w' }, sort: ['-lastMessageAt'] },
    { where: { or, orgId: 'o' }, sort: ['-lastMessageAt'] },
  ];
  expect(await unindexed(sessionCollection, queries)).toEqual([]);
});

test('lists of memories are read in order', async () => {
  const inOrgs = { orgId: { in: ['', 'o'] } };
  const or = [{ holder: { in: MANY } }, { holder: { in: ['a', 'b'] }, ...inOrgs }, { subjectId: 'u', ...inOrgs }];
  const queries: Omit<Query<MemoryRecord>, 'limit'>[] = [
    { where: { and: [{ or }, {}, unexpired] }, sort: ['-place'] },
    { where: { and: [{ or }, { kind: 'fact', status: 'active' }, unexpired] }, sort: ['-place'], after: ['1:x', 'm'] },
    { where: { and: [{ or: [{ holder: { in: ['w'] } }] }, { workspaceId: 'w' }, unexpired] }, sort: ['-place'] },
  ];
  expect(await unindexed(memoryCollection, queries)).toEqual([]);
});

test('lists of runs are read in order, and due ones by their time', async () => {
  const or = [{ workspaceId: { in: MANY } }, { workspaceId: { exists: false }, orgId: { in: MANY } }];
  const queries: Omit<Query<RunRecord>, 'limit'>[] = [
    { where: { or, userId: 'u' }, sort: ['-createdAt'] },
    { where: { workspaceId: 'w' }, sort: ['-createdAt'] },
    { where: { agentId: 'a', or, userId: 'u' }, sort: ['-createdAt'] },
    { where: { dueAt: { lte: NOW } }, sort: ['dueAt'] },
    { where: { status: 'queued', tenant: 't' }, sort: ['createdAt'] },
  ];
  expect(await unindexed(runCollection, queries)).toEqual([]);
});

test('approvals of a run are read in order', async () => {
  const queries: Omit<Query<ApprovalRecord>, 'limit'>[] = [
    { where: { runId: 'r' }, sort: ['rank'] },
    { where: { runUserId: 'u', rank: 0 }, sort: ['-requestedAt'] },
  ];
  expect(await unindexed(approvalCollection, queries)).toEqual([]);
});
