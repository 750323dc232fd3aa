import type { Parts } from '../../parts.js';
import type { RunRecord } from '../../stores/runs.js';
import { RunFailure } from '../failure.js';
import { isRefusal } from './refusal.js';

/**
 * Returns whether an error of a run only means that its Org is being deleted: then nobody has access to anything in it.
 */
export async function isOfDeletedOrg(
  { directory, systemCall }: Pick<Parts, 'directory' | 'systemCall'>,
  { orgId }: Pick<RunRecord, 'orgId'>,
  error: unknown,
): Promise<boolean> {
  const isLost = error instanceof RunFailure && error.code === 'permission_lost';
  if (orgId === '' || !(isLost || isRefusal(error))) return false;
  // An Org always has an owner, unless its deletion is scheduled. A failed question leaves the run with its own error.
  return directory.listOrgAdmins({ orgId }, systemCall()).then(
    ({ userIds }) => userIds.length === 0,
    () => false,
  );
}
