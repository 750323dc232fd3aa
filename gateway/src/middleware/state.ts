import type { Caller } from '@commonplace/kit/auth';
import type { BatchedCall } from '../in-process.js';

/** Facts about a request that the middleware has established. */
export interface State {
  requestId: string;
  clientIp: string;
  /** The network of the client's address, which limits count by. */
  clientNetwork: string;
  /** Time of arrival in epoch milliseconds, at which the request's deadline starts. */
  arrivedAt: number;
  /** What the request takes over from its batch; undefined for a request of its own. */
  batched?: BatchedCall;
  /** The `traceparent` that calls to services carry. */
  traceparent: string | undefined;
  /** The caller, set by the authentication gate; absent on routes without a credential. */
  admitted: Admitted;
  /** Counts the request against further rate limit policies. Throws 429 if one is exceeded. */
  countBy?: (policies: readonly string[]) => Promise<void>;
  /** Why the submission of a form's page is refused, which the page shows with what was entered. */
  formRefusal?: unknown;
  /** Ids that the request names; set after it has been read. */
  named?: NamedIds;
  /** Whether the answer is a stream of events. */
  streamsEvents?: true;
  /** Number of bytes of the answer that are in memory at a time, if it is streamed from elsewhere. */
  bytesInMemory?: number;
  /** Authenticates the same credential again, for bodies and answers that may take longer than a caller token is valid. */
  renew: () => Promise<Admitted>;
}

/** Ids of the Org, workspace and resource that a request is about. */
export interface NamedIds {
  readonly orgId?: string;
  readonly workspaceId?: string;
  readonly resourceId?: string;
}

/** The authenticated caller and the credential used. */
export interface Admitted {
  readonly caller: Caller;
  /** The signed caller token that the services verify. */
  readonly token: string;
  /** Id of the credential in limits and idempotency records. */
  readonly credentialId: string;
  /** The CSRF token that writes of a session have to send. */
  readonly csrfToken: string;
}
