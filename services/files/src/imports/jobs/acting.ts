import { type ActAsParts, isAccessLost } from '@commonplace/platform/acting';
import { type Acting, createActing } from '../../acting.js';
import { ImportFault } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';

const SCOPES = [
  'resource:read',
  'resource:write',
  'content:read',
  'content:write',
  'file:write',
  'tag:write',
  'share:write',
];
const CALL_MS = 60_000;

/** Acts as the user who began an import. */
export function actingFor(parts: ActAsParts, record: Pick<ImportRecord, 'userId' | 'orgId'>): Acting {
  const acting = createActing(parts, record, { scopes: SCOPES, callMs: CALL_MS });
  return (timeoutMs) => acting(timeoutMs).catch(lostAccess);
}

/**
 * Throws the fault that ends the import when the importer has lost access; rethrows other errors, which are retried.
 */
export function lostAccess(error: unknown): never {
  if (!isAccessLost(error)) throw error;
  const message = `The person who started the import may no longer write there: ${error.message}`;
  throw new ImportFault('access_lost', message, true, { cause: error });
}
