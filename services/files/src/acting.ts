import type { CallOptions } from '@commonplace/kit/rpc';
import { type ActAsParts, createActAs } from '@commonplace/platform/acting';

/** Returns the options of a call on behalf of the person whose job it is, with a deadline in `timeoutMs`. */
export type Acting = (timeoutMs?: number) => Promise<CallOptions>;

interface ActingTerms {
  readonly scopes: readonly string[];
  /** The timeout in milliseconds of calls that name none. */
  readonly callMs: number;
}

/** Acts as the person who requested a job, as long as they belong to its tenant. No token is stored. */
export function createActing(
  parts: ActAsParts,
  { userId, orgId }: { readonly userId: string; readonly orgId: string },
  { scopes, callMs }: ActingTerms,
): Acting {
  const actAs = createActAs(parts);
  const request = { userId, orgId, scopes: [...scopes], workspaceIds: [], chain: [] };
  return (timeoutMs = callMs) => actAs({ ...request, agent: undefined, automation: undefined }, timeoutMs);
}
