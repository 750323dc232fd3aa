import type { Policies, PolicyName } from '../rate-limits.js';
import { type Claim, createInProgress } from './in-progress.js';
import type { Admitted } from './state.js';

/** `Retry-After` in seconds for a client to which a stream was refused. */
const RETRY_SECONDS = 5;

type OpenedBy = Pick<Admitted, 'caller' | 'credentialId'>;

/** Counts the open event streams of each credential and each tenant in this process. */
export interface OpenStreams {
  /** Throws `concurrency_limited` if too many streams are open for another one. */
  require(by: OpenedBy): void;
  /** Counts a stream until the returned function is called. Throws as `require` does. */
  open(by: OpenedBy): () => void;
}

export function createOpenStreams(policies: Policies): OpenStreams {
  const inProgress = createInProgress();
  const claim = (policy: PolicyName, key: string, whose: string): Claim => ({
    policy,
    key,
    limit: policies[policy],
    amount: 1,
    message: (limit) => `More than ${limit} event streams ${whose} are open.`,
    retryAfter: RETRY_SECONDS,
  });
  const claimsOf = ({ caller, credentialId }: OpenedBy): Claim[] => [
    claim('streams', credentialId, 'of one credential'),
    // A caller without an Org counts as a tenant of their own.
    claim('tenant_streams', caller.tenant?.orgId ?? caller.userId, 'of one tenant'),
  ];
  return {
    require: (by) => inProgress.require(claimsOf(by)),
    open: (by) => inProgress.enter(claimsOf(by)),
  };
}
