import {
  type Collection,
  findPage,
  pageOfAll,
  parsePageRequest,
  type Sort,
  timesWithin,
  type Where,
} from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import type { ListSnapshotsRequest } from '@commonplace/proto/resources/v1/snapshot_service.js';
import { MAX_AUTOMATIC_SNAPSHOTS, MAX_NAMED_SNAPSHOTS } from '../config.js';
import { NEWEST_FIRST, type SnapshotReason, type SnapshotRecord } from './records.js';

const OLDEST_FIRST: Sort<SnapshotRecord> = ['createdAt', 'contentVersion'];
/** Maximum number of snapshots of one resource that are read to be filtered: twice as many as there should be. */
const MAX_READ = 2 * (MAX_NAMED_SNAPSHOTS + MAX_AUTOMATIC_SNAPSHOTS);

/** Returns a page of a resource's snapshots. */
export async function listSnapshots(
  snapshots: Collection<SnapshotRecord>,
  request: ListSnapshotsRequest,
  reason: SnapshotReason | undefined,
): Promise<{ items: SnapshotRecord[]; page: Page }> {
  const { resourceId, createdBy, q } = request;
  const where: Where<SnapshotRecord> = {
    resourceId,
    ...(reason === undefined ? {} : { reason }),
    ...timesWithin(request),
  };
  const sort = request.sort === 'created_at' ? OLDEST_FIRST : NEWEST_FIRST;
  if (createdBy === undefined && q === '') return findPage(snapshots, where, sort, request.page);
  // The store can look neither into the actor nor for a part of the name, but a resource has few snapshots.
  const all = await snapshots.find({ where, sort, limit: MAX_READ });
  return pageOfAll(
    parsePageRequest(request.page),
    all
      .filter((one) => createdBy === undefined || [one.createdBy.id, one.createdForId].includes(createdBy))
      .filter(({ name = '' }) => foldName(name).includes(foldName(q))),
    sort,
  );
}
