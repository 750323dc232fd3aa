import { lazyLibrary } from '@commonplace/kit/library';
import type { UnitOfWork } from '@commonplace/kit/store';
import {
  type ChallengeUse,
  newPasskeyChallenge,
  PASSKEY_CHALLENGE_MS,
  readPasskeyChallenge,
} from '../domain/passkey-challenge.js';
import type { PurposeKeys } from '../domain/secrets.js';
import type { OneTimeTokens } from '../stores/one-time-tokens.js';

/** The library of passkeys, which is loaded by the first call. */
export const webauthn = lazyLibrary<typeof import('@simplewebauthn/server')>('@simplewebauthn/server', import.meta.url);

/** Dependencies for issuing challenges and accepting each of them once. */
export interface ChallengeParts {
  readonly keys: Pick<PurposeKeys, 'challenges'>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly now: () => number;
}

/** The relying party of passkeys: the host and origin of the public URL. */
interface RelyingParty {
  readonly id: string;
  readonly origin: string;
}

export function relyingPartyOf(publicUrl: string): RelyingParty {
  const { hostname, origin } = new URL(publicUrl);
  return { id: hostname, origin };
}

/** Returns a new challenge for a browser, in bytes, with its expiry. */
export function issueChallenge(use: ChallengeUse, { keys, now }: ChallengeParts) {
  const expires = now() + PASSKEY_CHALLENGE_MS;
  const text = newPasskeyChallenge(keys.challenges, use, expires);
  return { bytes: new Uint8Array(Buffer.from(text, 'base64url')), expiresAt: new Date(expires).toISOString() };
}

/** Loads the schemas of passkeys on first use: their library is a twelfth of all code that a start would load. */
export function loadPasskeyInput(): Promise<typeof import('./passkey-input.js')> {
  return import('./passkey-input.js');
}

/**
 * Uses up the challenge that a credential answers, in a unit of work, and returns it. Returns undefined if it was
 * not issued for this use, has expired or was already used.
 */
export async function spendChallenge(
  use: ChallengeUse,
  credential: { readonly response: { readonly clientDataJSON: string } },
  work: UnitOfWork,
  { keys, now, oneTimeTokens }: ChallengeParts,
): Promise<string | undefined> {
  const { challengeIn } = await loadPasskeyInput();
  const text = challengeIn(credential.response.clientDataJSON);
  const expires = readPasskeyChallenge(keys.challenges, use, text, now());
  if (expires === undefined) return undefined;
  const expiresAt = new Date(expires).toISOString();
  return (await oneTimeTokens.useChallenge(work, { ...use, text, expiresAt })) ? text : undefined;
}
