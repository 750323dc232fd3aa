import type { Caller } from '@commonplace/kit/auth';

/** Facts about a request that the middleware has established. */
export interface State {
  requestId: string;
  clientIp: string;
  /** The network of the client's address, by which limits count. */
  clientNetwork: string;
  /** Epoch milliseconds at which the request arrived: its deadline counts from there. */
  cameAt: number;
  /** The `traceparent` that calls to services carry. */
  traceparent: string | undefined;
  /** Set by the authentication gate; absent on routes without a credential. */
  admitted: Admitted;
  /** Counts the request by further rate limit policies. Throws 429 if one is exceeded. */
  countBy?: (policies: readonly string[]) => Promise<void>;
  /** Ids that the request names, set once it has been read. */
  named?: NamedIds;
  /** Authenticates the same credential again, for an answer that takes longer than a caller token lasts. */
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
  /** Identifies the credential in limits and idempotency records. */
  readonly credentialId: string;
  /** For a session: the CSRF token that a write has to send. */
  readonly csrfToken: string;
}
