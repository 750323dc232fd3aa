import { openTestDatabase } from '@commonplace/adapters/testing';
import type { Collection, Query, StoredRecord } from '@commonplace/kit/store';
import { expect, test } from '@jest/globals';
import type { Grant } from '../src/domain/grant.js';
import type { Node } from '../src/domain/node.js';
import { formCollection, responseClaimCollection, submissionCollection } from '../src/forms/records.js';
import { nodeCollection } from '../src/nodes/records.js';
import { type Shift, shiftCollection } from '../src/nodes/shifts.js';
import {
  domainCollection,
  passwordTriesCollection,
  pinnedPageCollection,
  publicationCollection,
  slugCollection,
} from '../src/publications/records.js';
import { grantCollection } from '../src/sharing/records.js';
import { type AccessRequest, accessRequestCollection } from '../src/sharing/request-records.js';

async function unindexed<T extends StoredRecord>(of: Collection<T>, queries: readonly Omit<Query<T>, 'limit'>[]) {
  const plans = await Promise.all(queries.map((query) => of.explain({ ...query, limit: 10 })));
  return plans.flatMap(({ indexed, plan }, at) => (indexed ? [] : [[JSON.stringify(queries[at]), plan]]));
}

test('every query about sharing has an index', async () => {
  const database = await openTestDatabase();
  const store = database.store('resources');
  const grants = await store.collection(grantCollection);
  const requests = await store.collection(accessRequestCollection);
  const nodes = await store.collection(nodeCollection);
  const shifts = await store.collection(shiftCollection);
  const now = '2026-01-01T00:00:00.000Z';
  const ids = ['a', 'b', 'c'];
  const grantQueries: Omit<Query<Grant>, 'limit'>[] = [
    { where: { resourceId: { in: ids }, principal: { in: ids } } },
    { where: { resourceId: { in: ids }, role: { in: ['manager', 'owner'] } } },
    { where: { resourceId: 'a' } },
    { where: { principal: { in: ids }, workspaceId: 'w' } },
    { where: { principal: { in: ids } } },
    { where: { principal: 'a', tenant: 't', createdAt: { lte: now } } },
  ];
  const requestQueries: Omit<Query<AccessRequest>, 'limit'>[] = [
    { where: { resourceId: 'a', requesterId: 'u' }, sort: ['-createdAt'] },
    { where: { resourceId: 'a', status: 'pending', expiresAt: { gt: now } }, sort: ['-createdAt'] },
    { where: { requesterId: 'u', createdAt: { gt: now } }, sort: ['-createdAt'] },
    { where: { resourceId: { in: ids } } },
  ];
  const nodeQueries: Omit<Query<Node>, 'limit'>[] = [
    { where: { parentKey: 'a', state: 'active' }, sort: ['position'], offset: 9000 },
    { where: { workspaceId: 'w', state: 'active', type: { in: ['table', 'file'] } }, sort: ['-updatedAt'] },
  ];
  try {
    expect(await unindexed(grants, grantQueries)).toEqual([]);
    expect(await unindexed(requests, requestQueries)).toEqual([]);
    expect(await unindexed(nodes, nodeQueries)).toEqual([]);
    // A rare type is looked up by type; a common one is read in the requested order.
    const rare = { workspaceId: 'w', state: 'active', type: { in: ['table', 'file'] }, boundary: { in: ids } };
    expect((await nodes.explain({ where: rare, anyOrder: true, limit: 10 })).plan).toContain(
      '__workspaceId_state_type_sizeBytes ',
    );
    const sized = { type: { in: ['document', 'file'] }, sizeBytes: { gt: 0 } };
    expect(
      await unindexed(nodes, [{ where: { workspaceId: 'w', state: 'active', ...sized }, sort: ['-sizeBytes'] }]),
    ).toEqual([]);
    const walks = [{ workspaceId: 'w' }, { ancestors: { contains: 'a' } }];
    for (const where of walks) {
      expect((await nodes.explain({ where, limit: 200, after: ['a'] })).plan).not.toMatch(/TEMP B-TREE|LIST SUBQUERY/);
    }
    const shiftQueries: Omit<Query<Shift>, 'limit'>[] = [
      { where: { workspaceId: { in: ids }, until: { gt: now } }, sort: ['-until'] },
      { where: { fromWorkspaceId: { in: ids }, until: { gt: now } }, sort: ['-until'] },
      { where: { until: { lte: now } } },
    ];
    expect(await unindexed(shifts, shiftQueries)).toEqual([]);
  } finally {
    await database.close();
  }
});

test('every query about publications has an index', async () => {
  const database = await openTestDatabase();
  const store = database.store('resources');
  const now = '2026-01-01T00:00:00.000Z';
  const ids = ['a', 'b'];
  try {
    expect(
      await unindexed(await store.collection(publicationCollection), [
        { where: { itemId: 'a' } },
        { where: { itemId: { in: ids } } },
        { where: { listed: true }, after: ['a'] },
      ]),
    ).toEqual([]);
    expect(
      await unindexed(await store.collection(slugCollection), [
        { where: { publicationId: 'a' } },
        { where: { itemId: 'a', state: 'reserved' } },
        { where: { itemId: { in: ids } } },
      ]),
    ).toEqual([]);
    expect(
      await unindexed(await store.collection(pinnedPageCollection), [
        { where: { edition: 'a' } },
        { where: { nodeId: { in: ids } } },
      ]),
    ).toEqual([]);
    expect(
      await unindexed(await store.collection(domainCollection), [
        { where: { publicationId: 'a' } },
        { where: { nextCheckAt: { lte: now } }, sort: ['nextCheckAt'] },
      ]),
    ).toEqual([]);
    expect(
      await unindexed(await store.collection(passwordTriesCollection), [
        { where: { until: { lte: now } }, sort: ['until'] },
      ]),
    ).toEqual([]);
    expect(
      await unindexed(await store.collection(nodeCollection), [
        { where: { ancestors: { contains: 'a' }, state: 'active', boundary: 'w' } },
        { where: { workspaceId: 'w', state: 'active', boundary: 'w' }, sort: ['position'] },
        { where: { workspaceId: 'w', state: 'active' }, sort: ['-updatedAt'] },
        { where: { workspaceId: 'w', state: 'trashed' }, sort: ['-trashedAt'] },
      ]),
    ).toEqual([]);
  } finally {
    await database.close();
  }
});

test('every query about forms has an index', async () => {
  const database = await openTestDatabase();
  const store = database.store('resources');
  const hashes = ['a', 'b'];
  try {
    const formQueries = [
      { where: { resourceId: 'a' } },
      { where: { tokenHash: { in: hashes } } },
      { where: { hookHash: { in: hashes } } },
    ];
    expect(await unindexed(await store.collection(formCollection), formQueries)).toEqual([]);
    const submissionQueries = [{ where: { formId: 'a' }, sort: ['number'] as const }];
    expect(await unindexed(await store.collection(submissionCollection), submissionQueries)).toEqual([]);
    expect(await unindexed(await store.collection(responseClaimCollection), [{ where: { formId: 'a' } }])).toEqual([]);
  } finally {
    await database.close();
  }
});
