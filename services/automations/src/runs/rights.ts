import type { Definition } from '../definitions/records.js';
import type { AutomationRunRecord } from './records.js';

/** The rights of a run: those that the person it acts for and the author of its definition have in common. */
export interface RunRights {
  readonly userId: string;
  readonly userName: string;
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** The author of the definition; absent if that is the person it acts for. */
  readonly authorId?: string | undefined;
  /** The workspaces to which their credentials are limited; undefined without such a limit. */
  readonly limitedTo?: readonly string[] | undefined;
}

/**
 * Returns the rights of a run. Whoever triggers an automation lends it no more than its author has, since the author
 * decides what it does.
 */
export function rightsOfRun(
  { actsAs: { userId, userName, credentialId, scopes, limitedTo } }: Pick<AutomationRunRecord, 'actsAs'>,
  { actsAs: author }: Pick<Definition, 'actsAs'>,
): RunRights {
  return {
    ...{ userId, userName, credentialId },
    scopes: scopes.filter((scope) => author.scopes.includes(scope)),
    authorId: author.userId === userId ? undefined : author.userId,
    limitedTo: limitedTo?.filter((id) => author.limitedTo?.includes(id) ?? true) ?? author.limitedTo,
  };
}
