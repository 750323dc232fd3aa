import type { Credential } from '@commonplace/kit/auth';
import type { UserRecord } from '../stores/users.js';

/** The person that a credential authenticates, and the tenant that it is bound to. */
export interface Principal {
  readonly user: UserRecord;
  readonly credential: Credential;
  /** The only tenant that an API key reaches; absent for sessions and bearer tokens. */
  readonly tenant?: { readonly orgId: string | null };
  /** The CSRF token; only sessions have one. */
  readonly csrfToken?: string;
}
