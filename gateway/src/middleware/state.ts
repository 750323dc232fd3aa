import type { Caller } from '@commonplace/kit/auth';

/** What the middleware has found out about a request. */
export interface State {
  requestId: string;
  clientIp: string;
  /** Epoch milliseconds at which it came: its deadline counts from there. */
  cameAt: number;
  /** The trace that the request belongs to, as it is passed on. */
  traceparent: string | undefined;
  /** From the gate of authentication on; absent where no credential is asked for. */
  admitted: Admitted;
  /** Lets the same credential in once more, for an answer that takes longer than a token lasts. */
  renew: () => Promise<Admitted>;
}

/** Who was let in, and by which credential. */
export interface Admitted {
  readonly caller: Caller;
  /** The signed caller token that the services verify. */
  readonly token: string;
  /** Names the credential in limits and idempotency records. */
  readonly credentialId: string;
  /** For a session: what a write has to send. */
  readonly csrfToken: string;
}
