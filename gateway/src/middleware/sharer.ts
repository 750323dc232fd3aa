import type { State } from './state.js';

/**
 * Returns the key by which the process is shared fairly: the caller's Org, else the person, else the network of a client
 * without a credential.
 */
export function sharerOf({ state }: { readonly state: Pick<State, 'clientNetwork'> & Partial<State> }): string {
  const caller = state.admitted?.caller;
  return caller?.tenant?.orgId ?? (caller?.userId || state.clientNetwork);
}
