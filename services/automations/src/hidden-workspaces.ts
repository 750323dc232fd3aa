import { AppError } from '@commonplace/kit/errors';
import type { Shared } from './parts.js';

/** Thrown by work in a workspace of an Org whose deletion is scheduled: it waits, since the deletion can be undone. */
export class WorkspaceHidden extends Error {}

/**
 * Returns whether a workspace does not exist for anybody at present, because the deletion of its Org is scheduled or it
 * is being purged. Ask only where a person has no membership: then their membership may come back.
 */
export async function isHidden(
  { peers, systemCall }: Pick<Shared, 'systemCall'> & { readonly peers: Pick<Shared['peers'], 'directory'> },
  workspaceId: string,
): Promise<boolean> {
  try {
    await peers.directory.getSharingTerms({ workspaceId }, systemCall());
    return false;
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return true;
    throw error;
  }
}
