import type { Caller } from '@commonplace/kit/auth';

/** The person for whom another service starts a run, and what limits the run. */
interface StartingPerson {
  readonly userId: string;
  readonly userName: string;
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** The author of the automation that starts it, if that acts with the person's rights. */
  readonly authorId?: string | undefined;
  /** The workspaces to which the credential is limited; empty without such a limit. */
  readonly limitedTo: readonly string[];
}

/**
 * Returns a caller with the person, the scopes and workspaces of the credential that limits the run, and the author if
 * there is one.
 * A run with an author has no memories, because those that are about the person are not the author's to read.
 */
export function startingCaller({
  userId,
  userName,
  credentialId: id,
  scopes,
  authorId,
  limitedTo,
}: StartingPerson): Caller {
  const isShared = authorId !== undefined && authorId !== userId;
  const allowed = isShared ? scopes.filter((scope) => !scope.startsWith('memory:')) : scopes;
  const person = { userId, userName, userEmail: '', ...(isShared && { authorId }) };
  const limit = limitedTo.length === 0 ? {} : { workspaceIds: limitedTo };
  return { ...person, credential: { type: 'internal', id, scopes: allowed, ...limit } };
}
