import type { AppError } from '@commonplace/kit/errors';
import type { Quota } from '@commonplace/kit/quota';
import type { UnitOfWork } from '@commonplace/kit/store';
import { LimitReached } from '../errors.js';

/** The quotas of this service: limits on the number of records. */
export interface Quotas {
  /** Resources in a workspace. Key: workspace id. */
  readonly resources: Quota;
  /** Resources at the root of a workspace. Key: workspace id. */
  readonly roots: Quota;
  /** Children of a resource. Key: parent id. */
  readonly children: Quota;
  /** Tags in a workspace. Key: workspace id. */
  readonly tags: Quota;
  /** Comments on a document. Key: document id. */
  readonly comments: Quota;
  /** Templates in a list. Key: list key. */
  readonly templates: Quota;
  /** Manual snapshots of a resource. Key: resource id. */
  readonly snapshots: Quota;
  /** Access requests in the last hour. Key: id of the requester. */
  readonly accessRequests: Quota;
}

/** Reserves from a quota as `reserve` does. Returns false if it is exhausted. */
export async function tryToReserve(quota: Quota, work: UnitOfWork, key: string, amount = 1): Promise<boolean> {
  try {
    await quota.reserve(work, key, amount);
    return true;
  } catch (error) {
    if (isLimitReached(error)) return false;
    throw error;
  }
}

/** Returns whether an error reports that a limit is reached. */
function isLimitReached(error: unknown): error is AppError {
  return error instanceof Error && (error as AppError).reason === LimitReached().reason;
}
