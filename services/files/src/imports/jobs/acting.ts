import type { CallOptions } from '@commonplace/kit/rpc';
import { type ActAsParts, createActAs, isAccessLost } from '@commonplace/platform/acting';
import { ImportFault } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';

/** Returns the options of a call on behalf of the importer, with a deadline in `timeoutMs`. */
export type Acting = (timeoutMs?: number) => Promise<CallOptions>;

const SCOPES = [
  'resource:read',
  'resource:write',
  'content:read',
  'content:write',
  'file:write',
  'tag:write',
  'share:write',
];
const CALL_TIMEOUT_MS = 60_000;

/** Acts as the user who began an import, as long as they belong to its tenant. No token is stored. */
export function actingFor(parts: ActAsParts, { userId, orgId }: Pick<ImportRecord, 'userId' | 'orgId'>): Acting {
  const actAs = createActAs(parts);
  const request = {
    userId,
    orgId,
    scopes: SCOPES,
    agent: undefined,
    workspaceIds: [],
    automation: undefined,
    chain: [],
  };
  return (timeoutMs = CALL_TIMEOUT_MS) => actAs(request, timeoutMs).catch(lostAccess);
}

/**
 * Throws the fault that ends the import when the importer has lost access; rethrows other errors, which are retried.
 */
export function lostAccess(error: unknown): never {
  if (!isAccessLost(error)) throw error;
  const message = `The person who started the import may no longer write there: ${error.message}`;
  throw new ImportFault('access_lost', message, true, { cause: error });
}
