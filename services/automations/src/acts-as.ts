import { type Caller, workspacesReached } from '@commonplace/kit/auth';
import type { ActsAs } from './definitions/records.js';

/** Returns the rights of a caller, which something that they set up or start keeps. */
export function rightsOfCaller(caller: Caller): ActsAs {
  const { userId, userName, credential } = caller;
  const limitedTo = workspacesReached(caller);
  return {
    ...{ userId, userName, credentialId: credential.id, scopes: [...credential.scopes] },
    ...(limitedTo !== undefined && { limitedTo: [...limitedTo] }),
  };
}
