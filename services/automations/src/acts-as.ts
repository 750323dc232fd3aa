import { type Caller, workspacesReached } from '@commonplace/kit/auth';

/** The person whose rights a run has, and the scopes of the credential that set it up. */
export interface ActsAs {
  readonly userId: string;
  readonly userName: string;
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** The workspaces to which the credential is limited. */
  readonly limitedTo?: readonly string[] | undefined;
}

/** No credential: the rights have been handed over to a person, who has set nothing up with them so far. */
const HANDED_OVER = '';

/**
 * Returns rights as the rights of the successor of their person. Until somebody who starts what has them lends their own,
 * nothing may start with them: the successor has not looked at it.
 */
export function handedOverTo(actsAs: ActsAs, { id, name }: { readonly id: string; readonly name: string }): ActsAs {
  return { ...actsAs, userId: id, userName: name, credentialId: HANDED_OVER };
}

export const isHandedOver = ({ credentialId }: ActsAs): boolean => credentialId === HANDED_OVER;

/** Returns the rights of a caller as stored with what they set up or start: it later acts with these rights. */
export function rightsOfCaller(caller: Caller): ActsAs {
  const { userId, userName, credential } = caller;
  const limitedTo = workspacesReached(caller);
  return {
    ...{ userId, userName, credentialId: credential.id, scopes: [...credential.scopes] },
    ...(limitedTo !== undefined && { limitedTo: [...limitedTo] }),
  };
}
