import { createTokenSigner } from '@commonplace/kit/auth';
import { contracts } from '@commonplace/kit/contracts';
import type { Subscription } from '@commonplace/kit/events';
import { createMembershipCache } from '@commonplace/kit/memberships';
import { createPasswords } from '@commonplace/kit/passwords';
import { type Host, implement, type ServiceModule, type StartedModule } from '@commonplace/kit/runtime';
import { createBackground } from './background.js';
import { config } from './config.js';
import { createKeyReader } from './credentials/api-key.js';
import { createBearerReader } from './credentials/bearer.js';
import { createCredentials } from './credentials/credentials.js';
import { createSessionReader } from './credentials/session.js';
import { deriveKeys } from './domain/secrets.js';
import { createAccountHandlers } from './handlers/account.js';
import { createApiKeyHandlers } from './handlers/api-keys.js';
import { createAuthHandlers } from './handlers/auth.js';
import { createHomes } from './homes.js';
import { type Job, startHousekeeping } from './jobs/housekeeping.js';
import { watchOrgMembers } from './jobs/org-members.js';
import { createReach } from './reach.js';
import { createSessions } from './sessions.js';
import { apiKeyCollection, keyHolderCollection } from './stores/api-keys.js';
import { identityCollection } from './stores/identities.js';
import { sessionCollection } from './stores/sessions.js';
import { userCollection } from './stores/users.js';
import { createThrottle } from './throttle.js';

const HOUR_MS = 3_600_000;

export const identity: ServiceModule = {
  name: 'identity',
  config,
  stores: true,
  start: (host) => startIdentity(host),
};

/** `now` gives epoch milliseconds; tests have a clock of their own. */
export async function startIdentity(host: Host, now: () => number = Date.now): Promise<StartedModule> {
  const settings = host.settings(config);
  const { store, log } = host;
  const users = await store.collection(userCollection);
  const apiKeys = await store.collection(apiKeyCollection);
  const keyHolders = await store.collection(keyHolderCollection);
  const identities = await store.collection(identityCollection);
  const sessionRecords = await store.collection(sessionCollection);

  const directory = host.client(contracts.directory);
  const memberships = await createMembershipCache(directory, host.bus);
  const keys = deriveKeys(settings.secrets);
  const background = createBackground(log);
  const homes = createHomes(store, users, directory);
  const life = { idleMs: settings.sessionIdleHours * HOUR_MS, absoluteMs: settings.sessionDays * 24 * HOUR_MS };
  const sessions = createSessions({ store, records: sessionRecords, keys, life, background, now });
  const peppers = keys.apiKeys;
  const credentials = createCredentials({
    session: createSessionReader(sessions, users),
    apiKey: createKeyReader({ store, keys: apiKeys, users, memberships, peppers, background, now }),
    bearer: createBearerReader(settings.issuers, homes, { store, users, identities, directory, now }),
  });
  const parts = {
    settings,
    log,
    store,
    users,
    apiKeys,
    keyHolders,
    sessionRecords,
    directory,
    memberships,
    reach: createReach(memberships, directory),
    keys,
    signer: createTokenSigner(keys.tokenSigning),
    passwords: await createPasswords(),
    throttle: createThrottle(settings.signInTries),
    sessions,
    credentials,
    homes,
    now,
  };

  let members: Subscription | undefined;
  let housekeeping: Job | undefined;
  return {
    implementations: [
      implement(contracts.account, createAccountHandlers(parts)),
      implement(contracts.apiKeys, createApiKeyHandlers(parts)),
      implement(contracts.auth, createAuthHandlers(parts)),
    ],
    async begin() {
      members = await watchOrgMembers({
        bus: host.bus,
        store,
        apiKeys,
        directory,
        systemCall: () => host.systemCall(),
      });
      housekeeping = startHousekeeping({ store, sessionRecords, apiKeys, log, now });
    },
    async drain() {
      await members?.close();
      await housekeeping?.close();
    },
    close: () => background.settle(),
  };
}
