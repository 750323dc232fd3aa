import { createTokenSigner } from '@commonplace/kit/auth';
import { ConfigError } from '@commonplace/kit/config';
import { loadWhenIdle } from '@commonplace/kit/library';
import { createStoredLimit, usageCollection } from '@commonplace/kit/limits';
import { createPasswords } from '@commonplace/kit/passwords';
import { createEnvelope } from '@commonplace/kit/secrets';
import { openCollections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { openMailer } from '@commonplace/platform/mail';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { defineService, type Host, implement, type StartedModule } from '@commonplace/platform/runtime';
import { createActivity } from './activity.js';
import { createCredentialAudit } from './audit.js';
import { createBackground } from './background.js';
import { type BreachedPasswords, NO_BREACHED_PASSWORDS, openBreachedPasswords } from './breached-passwords.js';
import { config } from './config.js';
import { createKeyReader } from './credentials/api-key.js';
import { createBearerReader } from './credentials/bearer.js';
import { createCredentials } from './credentials/credentials.js';
import { createSessionReader } from './credentials/session.js';
import { loadCommonPasswords } from './domain/new-password.js';
import { deriveKeys } from './domain/secrets.js';
import { createAccountHandlers } from './handlers/account.js';
import { createAccountSecurityHandlers } from './handlers/account-security.js';
import { createApiKeyHandlers } from './handlers/api-keys.js';
import { createAuthHandlers } from './handlers/auth.js';
import { createHomes } from './homes.js';
import { createHousekeeping } from './jobs/housekeeping.js';
import { watchOrgMembers } from './jobs/org-members.js';
import { createMails } from './mails.js';
import { migrations } from './migrations.js';
import { createReach } from './reach.js';
import { createSessions } from './sessions.js';
import { createSignUpLimit, NO_SIGN_UP_LIMIT } from './sign-up-limit.js';
import { activityCollection } from './stores/activity.js';
import { apiKeyCollection, keyHolderCollection } from './stores/api-keys.js';
import { identityCollection } from './stores/identities.js';
import { createOneTimeTokens, oneTimeTokenCollection } from './stores/one-time-tokens.js';
import { passkeyCollection } from './stores/passkeys.js';
import { secondFactorCollection } from './stores/second-factors.js';
import { sessionCollection } from './stores/sessions.js';
import { userCollection } from './stores/users.js';
import { CODE_ATTEMPT_FACTORS, createMailThrottle, createThrottle, PASSWORD_ATTEMPT_FACTORS } from './throttle.js';

const HOUR_MS = 3_600_000;

const RECORDS = {
  users: userCollection,
  apiKeys: apiKeyCollection,
  keyHolders: keyHolderCollection,
  identities: identityCollection,
  sessionRecords: sessionCollection,
  secondFactors: secondFactorCollection,
  passkeys: passkeyCollection,
  tokens: oneTimeTokenCollection,
  activities: activityCollection,
  usages: usageCollection('limits'),
};

export const identity = defineService({
  name: 'identity',
  config,
  stores: true,
  migrations,
  calls: [contracts.directory],
  reachesInternet: true,
  start: (host) => startIdentity(host),
});

/** Starts the service. Tests pass their own clock, which returns epoch milliseconds, and `settle` background writes. */
export async function startIdentity(
  host: Host<typeof contracts.directory>,
  now: () => number = Date.now,
): Promise<StartedModule & { settle(): Promise<void> }> {
  const settings = host.settings(config);
  const { store, log } = host;
  const records = await openCollections(store, RECORDS);
  const { users, apiKeys, identities, secondFactors, usages } = records;
  const directory = host.client(contracts.directory);
  const memberships = await createMembershipCache(directory, host.bus);
  const keys = deriveKeys(settings.secrets);
  const background = createBackground(log);
  const audit = createCredentialAudit({ store, log, now });
  const activity = createActivity({ store, records: records.activities, background, now });
  const homes = createHomes({ store, users, directory, log });
  const life = { idleMs: settings.sessionIdleHours * HOUR_MS, absoluteMs: settings.sessionDays * 24 * HOUR_MS };
  const { sessionsPerPerson: perPerson } = settings;
  const sessions = createSessions({ store, records: records.sessionRecords, keys, life, perPerson, background, now });
  const { smtpUrl, mailFrom, publicUrl } = settings;
  const envelope = createEnvelope(keys.envelope);
  const mailer = await openMailer({ service: 'identity', store, log, now, smtpUrl, mailFrom, publicUrl, envelope });
  const { breachedPasswords: file, passwordMinLength: minLength } = settings;
  const breached = file === undefined ? NO_BREACHED_PASSWORDS : await openBreached(file);
  if (minLength > 0) loadWhenIdle(loadCommonPasswords);
  const peppers = keys.apiKeys;
  const credentials = createCredentials({
    session: createSessionReader(sessions, users, { settings }),
    apiKey: createKeyReader({ store, keys: apiKeys, users, memberships, peppers, background, audit, now }),
    bearer: createBearerReader(settings.oidcIssuers, homes, { store, users, identities, directory, now }),
  });
  const limits = createStoredLimit({ store, records: usages, now });
  // Attempts share network and account claims in any combination, so that all of them go through one queue.
  const tryLimits = createStoredLimit({ store, records: usages, now, oneQueue: true });
  const { signUpsPerNetwork: perNetwork, signUpsPerHour: perHour, ipv6Prefix, signInTries: tries } = settings;
  const parts = {
    ...records,
    settings,
    log,
    store,
    directory,
    memberships,
    reach: createReach(memberships, directory),
    keys,
    signer: createTokenSigner(keys.tokenSigning),
    passwords: await createPasswords(),
    passwordRules: { minLength, isBreached: breached.has },
    signUpLimit: settings.unlimited ? NO_SIGN_UP_LIMIT : createSignUpLimit(limits, { perNetwork, perHour, ipv6Prefix }),
    throttle: createThrottle(tryLimits, { name: 'password', tries, ipv6Prefix, factors: PASSWORD_ATTEMPT_FACTORS }),
    codeThrottle: createThrottle(tryLimits, { name: 'code', tries, ipv6Prefix, factors: CODE_ATTEMPT_FACTORS }),
    envelope,
    mailThrottle: createMailThrottle(tryLimits, settings.mailRequests, ipv6Prefix),
    mailer,
    mails: createMails(publicUrl),
    oneTimeTokens: createOneTimeTokens(records.tokens, keys.oneTimeTokens, now),
    sessionLife: life,
    sessions,
    credentials,
    audit,
    activity,
    homes,
    limits,
    now,
  };

  return {
    implementations: [
      implement(contracts.account, createAccountHandlers(parts)),
      implement(contracts.accountSecurity, createAccountSecurityHandlers(parts)),
      implement(contracts.apiKeys, createApiKeyHandlers(parts)),
      implement(contracts.auth, createAuthHandlers(parts)),
    ],
    runs: [
      breached,
      { close: background.settle },
      audit,
      createHousekeeping({ store, secondFactors, envelope, apiKeys, limits, log, now }),
      mailer,
    ],
    consume: () => [watchOrgMembers({ bus: host.bus, store, apiKeys, directory, systemCall: () => host.systemCall() })],
    async settle() {
      await audit.close();
      await background.settle();
    },
  };
}

/** Opens the file of COMMONPLACE_BREACHED_PASSWORDS. Throws `ConfigError` if it cannot be used. */
function openBreached(file: string): Promise<BreachedPasswords> {
  return openBreachedPasswords(file).catch((error: Error) => {
    throw new ConfigError([`COMMONPLACE_BREACHED_PASSWORDS can't be used: ${error.message}`]);
  });
}
