import { homeOf } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import { accountReclaimed, apiKeyRevokedBy, passkeyRemoved, secondFactorChanged } from '../events.js';
import { type ApiKeyRecord, type KeyHolderRecord, unrevokedKeysOf } from '../stores/api-keys.js';
import { type IdentityRecord, identitiesOf } from '../stores/identities.js';
import type { OneTimeTokens } from '../stores/one-time-tokens.js';
import { type PasskeyRecord, passkeysOf } from '../stores/passkeys.js';
import type { SecondFactorRecord } from '../stores/second-factors.js';
import type { UserRecord } from '../stores/users.js';

export interface ReclaimParts {
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly keyHolders: Collection<KeyHolderRecord>;
  readonly identities: Collection<IdentityRecord>;
  readonly passkeys: Collection<PasskeyRecord>;
  readonly secondFactors: Collection<SecondFactorRecord>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly now: () => number;
}

/**
 * Ends every way into an account that was set up before its address was verified, except its password and sessions,
 * which the caller replaces: API keys, passkeys, the second factor, and links to identity providers that did not
 * verify the address. Somebody else may have created the account with this address. Tenancy ends its connections by
 * the event.
 */
export async function reclaimAccount(user: UserRecord, context: CallContext, parts: ReclaimParts): Promise<void> {
  await revokeKeys(user, context, parts);
  await removeFactors(user, context, parts);
  for (const identity of await identitiesOf(parts.identities, user.id)) {
    const { verifiedEmail } = identity;
    if (verifiedEmail !== undefined && foldEmail(verifiedEmail) === user.emailKey) continue;
    context.work.remove(parts.identities, identity);
  }
  await parts.oneTimeTokens.revoke(context.work, user.id, ['email_verification']);
  context.work.publish(accountReclaimed(context, user));
}

async function revokeKeys(user: UserRecord, context: CallContext, parts: ReclaimParts): Promise<void> {
  const { work } = context;
  const keys = await unrevokedKeysOf(parts.apiKeys, user.id);
  const revokedAt = new Date(parts.now()).toISOString();
  for (const key of keys) {
    work.replace(parts.apiKeys, key, { ...key, state: 'revoked', revokedAt });
    work.publish(apiKeyRevokedBy(context, key, user));
  }
  // A key that is created concurrently writes the holder as well, so that one of both runs again and sees the other.
  for (const id of new Set([homeOf(user.id), ...keys.map(({ tenant }) => tenant)])) {
    const holder = await work.get(parts.keyHolders, id);
    if (holder === undefined) work.insert(parts.keyHolders, { id, tenant: id, createdAt: revokedAt });
    else work.replace(parts.keyHolders, holder, { ...holder });
  }
}

async function removeFactors(user: UserRecord, context: CallContext, parts: ReclaimParts): Promise<void> {
  const { work } = context;
  for (const passkey of await passkeysOf(parts.passkeys, user.id)) {
    work.remove(parts.passkeys, passkey);
    work.publish(passkeyRemoved(context, user, passkey));
  }
  const factor = await work.get(parts.secondFactors, user.id);
  if (factor === undefined) return;
  work.remove(parts.secondFactors, factor);
  if (factor.totp !== undefined) work.publish(secondFactorChanged(context, user, 'totp_removed'));
}
