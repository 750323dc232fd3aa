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

/** Returns the rights of a caller as stored with what they set up or start: it later acts with these rights. */
export function rightsOfCaller(caller: Caller): ActsAs {
  const { userId, userName, credential } = caller;
  const limitedTo = workspacesReached(caller);
  return {
    ...{ userId, userName, credentialId: credential.id, scopes: [...credential.scopes] },
    ...(limitedTo !== undefined && { limitedTo: [...limitedTo] }),
  };
}
