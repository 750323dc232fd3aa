import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { Mailer } from '@commonplace/platform/mail';
import type {
  AccountSecurityService,
  CompletePasskeyRegistrationRequest,
  Passkey,
} from '@commonplace/proto/identity/v1/account_security_service.js';
import type { RegistrationResponseJSON, VerifiedRegistrationResponse } from '@simplewebauthn/server';
import type { Settings } from '../config.js';
import { deviceOf } from '../domain/device.js';
import { NoPasskey, NoPassword, PasskeyExists, PasskeyLimit, PasskeyNotVerified } from '../errors.js';
import { passkeyAdded, passkeyRemoved } from '../events.js';
import type { Mails } from '../mails.js';
import { type PasskeyRecord, passkeyIdOf, passkeysOf } from '../stores/passkeys.js';
import type { UserRecord } from '../stores/users.js';
import {
  type ChallengeParts,
  issueChallenge,
  loadPasskeyInput,
  relyingPartyOf,
  spendChallenge,
  webauthn,
} from './passkey-protocol.js';
import {
  type RecencyParts,
  recentlySignedIn,
  recentSession,
  type SignedIn,
  type SignedInParts,
  signedIn,
} from './signed-in.js';

type Methods = Pick<
  Handlers<AccountSecurityService>,
  'listPasskeys' | 'beginPasskeyRegistration' | 'completePasskeyRegistration' | 'renamePasskey' | 'removePasskey'
>;

export interface PasskeyParts extends SignedInParts, RecencyParts, ChallengeParts {
  readonly settings: Pick<Settings, 'publicUrl' | 'passkeysPerPerson' | 'reauthenticationMinutes'>;
  readonly passkeys: Collection<PasskeyRecord>;
  readonly mailer: Mailer;
  readonly mails: Mails;
}

const RP_NAME = 'Commonplace';
const REGISTRATION = 'passkey_registration' as const;

/** Creates the handlers by which a person manages the passkeys of a local account (WebAuthn). */
export function createPasskeyHandlers(parts: PasskeyParts): Methods {
  const { passkeys, settings } = parts;
  const party = relyingPartyOf(settings.publicUrl);

  return {
    async listPasskeys({ session }) {
      const { user } = await signedIn(session, parts);
      return { items: (await passkeysOf(passkeys, user.id)).map(toPasskey) };
    },

    async beginPasskeyRegistration({ session }) {
      const { user } = await localSession(session, parts);
      const present = await passkeysOf(passkeys, user.id);
      requireRoom(present, parts);
      const challenge = issueChallenge({ purpose: REGISTRATION, userId: user.id }, parts);
      const options = await webauthn().generateRegistrationOptions({
        rpName: RP_NAME,
        rpID: party.id,
        userName: user.email,
        userDisplayName: user.name,
        userID: new Uint8Array(Buffer.from(user.id)),
        challenge: challenge.bytes,
        attestationType: 'none',
        excludeCredentials: present.map(toDescriptor),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      return { options: JSON.stringify(options), expiresAt: challenge.expiresAt };
    },

    async completePasskeyRegistration(request, context) {
      const { user: person, record } = await localSession(request.session, parts);
      const { parseRegistration } = await loadPasskeyInput();
      const response = parseRegistration(request.credential);
      const use = { purpose: REGISTRATION, userId: person.id };
      const challenge = await spendChallenge(use, response, context.work, parts);
      if (challenge === undefined) throw PasskeyNotVerified({ why: 'the challenge is unknown, expired or used.' });
      const verified = await verify(response, challenge, parts);
      await parts.sessions.strengthen(context.work, record);
      return toPasskey(await add(person, verified, request, context, parts));
    },

    async renamePasskey({ session, passkeyId, name }, { work }) {
      const { user } = await signedIn(session, parts);
      const passkey = await work.get(passkeys, passkeyId);
      if (passkey?.userId !== user.id) throw NoPasskey();
      return toPasskey(work.replace(passkeys, passkey, { ...passkey, name }));
    },

    async removePasskey({ session, passkeyId }, context) {
      const user = await recentlySignedIn(session, parts);
      const passkey = await context.work.get(passkeys, passkeyId);
      if (passkey?.userId !== user.id) throw NoPasskey();
      context.work.remove(passkeys, passkey);
      context.work.publish(passkeyRemoved(context, user, passkey));
      const mail = parts.mails.secondFactorChanged(user.name, 'passkey_removed');
      parts.mailer.enqueue(context.work, { to: user.email, ...mail });
      return {};
    },
  };
}

/** Returns a recently authenticated session and its person. Throws if they have no local account. */
async function localSession(session: string, parts: PasskeyParts): Promise<SignedIn> {
  const found = await recentSession(session, parts);
  if (found.user.passwordHash === undefined) throw NoPassword();
  return found;
}

function requireRoom(present: readonly PasskeyRecord[], { settings }: PasskeyParts): void {
  const { passkeysPerPerson: limit } = settings;
  if (present.length >= limit) throw PasskeyLimit({ limit });
}

type Verified = NonNullable<VerifiedRegistrationResponse['registrationInfo']>;

async function verify(
  response: RegistrationResponseJSON,
  expectedChallenge: string,
  { settings }: PasskeyParts,
): Promise<Verified> {
  const { id: expectedRPID, origin: expectedOrigin } = relyingPartyOf(settings.publicUrl);
  const expected = { expectedChallenge, expectedRPID, expectedOrigin, requireUserVerification: true };
  const answer = await webauthn()
    .verifyRegistrationResponse({ response, ...expected })
    .catch((cause: unknown) => {
      throw PasskeyNotVerified({ why: reasonOf(cause) }, { cause });
    });
  if (!answer.verified) throw PasskeyNotVerified({ why: 'its attestation is wrong.' });
  return answer.registrationInfo;
}

const MAX_REASON_LENGTH = 200;

/** Returns the library's error message as a sentence. */
function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message.slice(0, MAX_REASON_LENGTH) : 'it is malformed';
  return `${text}.`;
}

async function add(
  person: UserRecord,
  { credential, credentialBackedUp: synced }: Verified,
  { name, userAgent }: CompletePasskeyRegistrationRequest,
  context: CallContext,
  parts: PasskeyParts,
): Promise<PasskeyRecord> {
  const { work } = context;
  const { passkeys } = parts;
  // The person's record is written too, so that of two concurrent additions the second one counts the first.
  const user = await work.get(parts.users, person.id);
  if (user === undefined || user.credentialEpoch !== person.credentialEpoch) throw NoPasskey();
  requireRoom(await passkeysOf(passkeys, user.id), parts);
  const { version: _, ...same } = user;
  work.replace(parts.users, user, same);
  const id = passkeyIdOf(credential.id);
  if ((await work.get(passkeys, id)) !== undefined) throw PasskeyExists();
  const passkey = work.insert(passkeys, {
    id,
    userId: user.id,
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    transports: credential.transports ?? [],
    synced,
    name: name === '' ? (deviceOf(userAgent) ?? 'Passkey') : name,
    createdAt: new Date(parts.now()).toISOString(),
  });
  work.publish(passkeyAdded(context, user, passkey));
  const mail = parts.mails.secondFactorChanged(user.name, 'passkey_added');
  parts.mailer.enqueue(work, { to: user.email, ...mail });
  return passkey;
}

function toDescriptor({ credentialId: id, transports }: PasskeyRecord) {
  return { id, transports: [...transports] as never[] };
}

function toPasskey({ id, name, createdAt, lastUsedAt, synced }: PasskeyRecord): Passkey {
  return { id, name, createdAt, lastUsedAt, synced };
}
