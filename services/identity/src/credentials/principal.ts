import type { Credential } from '@commonplace/kit/auth';
import type { UserRecord } from '../stores/users.js';

/** Whom a credential stands for, and what it is bound to. */
export interface Principal {
  readonly user: UserRecord;
  readonly credential: Credential;
  /** The one tenant that a key reaches; a session or bearer is bound to none. */
  readonly tenant?: { readonly orgId: string | null };
  /** Of a session. */
  readonly csrfToken?: string;
}
