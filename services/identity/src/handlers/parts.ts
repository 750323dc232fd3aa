import type { TokenSigner } from '@commonplace/kit/auth';
import type { Values } from '@commonplace/kit/config';
import type { Log } from '@commonplace/kit/log';
import type { MembershipCache } from '@commonplace/kit/memberships';
import type { Passwords } from '@commonplace/kit/passwords';
import type { Client } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { config } from '../config.js';
import type { Credentials } from '../credentials/credentials.js';
import type { PurposeKeys } from '../domain/secrets.js';
import type { Homes } from '../homes.js';
import type { Reach } from '../reach.js';
import type { Sessions } from '../sessions.js';
import type { ApiKeyRecord, KeyHolderRecord } from '../stores/api-keys.js';
import type { SessionRecord } from '../stores/sessions.js';
import type { UserRecord } from '../stores/users.js';
import type { Throttle } from '../throttle.js';

/** What the handlers stand on; `service.ts` puts it together. */
export interface Parts {
  readonly settings: Values<typeof config>;
  readonly log: Log;
  readonly store: Store;
  readonly users: Collection<UserRecord>;
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly keyHolders: Collection<KeyHolderRecord>;
  readonly sessionRecords: Collection<SessionRecord>;
  readonly directory: Client<DirectoryService>;
  readonly memberships: MembershipCache;
  readonly reach: Reach;
  readonly keys: PurposeKeys;
  readonly signer: TokenSigner;
  readonly passwords: Passwords;
  readonly throttle: Throttle;
  readonly sessions: Sessions;
  readonly credentials: Credentials;
  readonly homes: Homes;
  /** Epoch milliseconds. */
  readonly now: () => number;
}
