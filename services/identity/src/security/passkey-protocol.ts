import { invalidField } from '@commonplace/kit/errors';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import {
  type ChallengeUse,
  newPasskeyChallenge,
  PASSKEY_CHALLENGE_MS,
  readPasskeyChallenge,
} from '../domain/passkey-challenge.js';
import type { PurposeKeys } from '../domain/secrets.js';
import type { OneTimeTokens } from '../stores/one-time-tokens.js';

/** Dependencies for issuing challenges and accepting each of them once. */
export interface ChallengeParts {
  readonly keys: Pick<PurposeKeys, 'challenges'>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly now: () => number;
}

/** The relying party of passkeys: the host and origin of the public URL. */
export interface RelyingParty {
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
  const text = challengeIn(credential.response.clientDataJSON);
  const expires = readPasskeyChallenge(keys.challenges, use, text, now());
  if (expires === undefined) return undefined;
  const expiresAt = new Date(expires).toISOString();
  return (await oneTimeTokens.useChallenge(work, { ...use, text, expiresAt })) ? text : undefined;
}

const CLIENT_DATA = z.object({ challenge: z.string() });

function challengeIn(clientDataJSON: string): string {
  try {
    return CLIENT_DATA.parse(JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'))).challenge;
  } catch {
    return '';
  }
}

const BASE64URL = z.string().regex(/^[A-Za-z0-9_-]+$/);
/** Maximum of 1023 bytes (WebAuthn), in base64url. */
const CREDENTIAL_ID = BASE64URL.max(1364);
const CREDENTIAL = {
  id: CREDENTIAL_ID,
  rawId: CREDENTIAL_ID,
  type: z.literal('public-key'),
  clientExtensionResults: z.object({}).default({}),
};
const REGISTRATION = z.object({
  ...CREDENTIAL,
  response: z.object({
    clientDataJSON: BASE64URL,
    attestationObject: BASE64URL,
    transports: z.array(z.string().max(32)).max(16).optional(),
  }),
});
const AUTHENTICATION = z.object({
  ...CREDENTIAL,
  response: z.object({
    clientDataJSON: BASE64URL,
    authenticatorData: BASE64URL,
    signature: BASE64URL,
    userHandle: BASE64URL.max(128)
      .nullish()
      .transform((handle) => handle ?? undefined),
  }),
});

/** Parses a browser's response to a passkey registration. Throws `invalid_value` at `credential`. */
export function parseRegistration(credential: string): RegistrationResponseJSON {
  return parse(REGISTRATION, credential) as RegistrationResponseJSON;
}

/** Parses a browser's response to a passkey sign-in. Throws `invalid_value` at `credential`. */
export function parseAuthentication(credential: string): AuthenticationResponseJSON {
  return parse(AUTHENTICATION, credential) as AuthenticationResponseJSON;
}

function parse(schema: z.ZodType, credential: string): unknown {
  try {
    return schema.parse(JSON.parse(credential));
  } catch (cause) {
    const what = cause instanceof z.ZodError ? ` (${cause.issues[0]?.path.join('.')})` : '';
    throw invalidField('credential', 'invalid_value', `credential is not what a browser makes of a passkey${what}.`);
  }
}
