import type { Policies, PolicyName } from '../rate-limits.js';
import { tooManyAtOnce } from './rate-limit.js';
import type { Admitted } from './state.js';

/** `Retry-After` in seconds for a client to which a stream was refused. */
const RETRY_SECONDS = 5;

/** Counts the open event streams of each credential and each tenant in this process. */
export interface OpenStreams {
  /** Counts a stream until the returned function is called. Throws `concurrency_limited` if there are too many. */
  open(by: Pick<Admitted, 'caller' | 'credentialId'>): () => void;
}

export function createOpenStreams(policies: Policies): OpenStreams {
  const counts = new Map<string, number>();

  function change(key: string, by: 1 | -1): void {
    const count = (counts.get(key) ?? 0) + by;
    if (count <= 0) counts.delete(key);
    else counts.set(key, count);
  }

  return {
    open({ caller, credentialId }) {
      // A caller without an Org counts as a tenant of their own.
      const tenant = caller.tenant?.orgId ?? caller.userId;
      const claims: [PolicyName, string, string][] = [
        ['streams', `credential ${credentialId}`, 'of one credential'],
        ['tenant_streams', `tenant ${tenant}`, 'of one tenant'],
      ];
      for (const [policy, key, whose] of claims) {
        const limit = policies[policy];
        if (limit === undefined || (counts.get(key) ?? 0) < limit) continue;
        throw tooManyAtOnce(policy, limit, `More than ${limit} event streams ${whose} are open.`, RETRY_SECONDS);
      }
      for (const [, key] of claims) change(key, 1);
      let closed = false;
      return () => {
        if (closed) return;
        closed = true;
        for (const [, key] of claims) change(key, -1);
      };
    },
  };
}
