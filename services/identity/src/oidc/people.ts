import { newId } from '@commonplace/kit/id';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import { type Collection, LostRace, type Store, UniqueTaken } from '@commonplace/kit/store';
import { emailDomainOf, foldEmail } from '@commonplace/kit/words';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { newUser } from '../domain/user.js';
import { AccountDisabled, AccountNotProven, AddressNotProven, NoAddress, UnknownPerson } from '../errors.js';
import { userCreated } from '../events.js';
import { type IdentityRecord, identityIdOf } from '../stores/identities.js';
import { type UserRecord, userByEmail } from '../stores/users.js';
import type { Issuer } from './issuers.js';
import { type Profile, parseProfile, profileOf } from './profile.js';
import type { VerifiedToken } from './verify.js';

export interface PeopleParts {
  readonly store: Store;
  readonly users: Collection<UserRecord>;
  readonly identities: Collection<IdentityRecord>;
  readonly directory: Client<DirectoryService>;
  readonly now: () => number;
}

interface KnownPerson {
  readonly user: UserRecord;
  readonly identity: IdentityRecord;
}

/** Number of retries if concurrent first requests of one person conflict. */
const MAX_ATTEMPTS = 5;

/**
 * Returns the person of a verified token. The first token of a subject creates or links an account if its issuer
 * may do so.
 */
export async function personOf(token: VerifiedToken, context: CallContext, parts: PeopleParts): Promise<KnownPerson> {
  for (let left = MAX_ATTEMPTS; ; left--) {
    const known = await knownPerson(token, parts);
    if (known !== undefined) {
      if (known.user.disabledAt !== undefined) throw AccountDisabled();
      return known;
    }
    try {
      return await firstSignIn(token, context, parts);
    } catch (error) {
      if (!(error instanceof LostRace || error instanceof UniqueTaken) || left === 0) throw error;
    }
  }
}

async function knownPerson({ issuer, subject }: VerifiedToken, parts: PeopleParts): Promise<KnownPerson | undefined> {
  const identity = await parts.identities.get(identityIdOf(issuer.issuer, subject));
  const user = identity === undefined ? undefined : await parts.users.get(identity.userId);
  return identity === undefined || user === undefined ? undefined : { identity, user };
}

async function firstSignIn(token: VerifiedToken, context: CallContext, parts: PeopleParts): Promise<KnownPerson> {
  const profile = await profileOf(token);
  const { email, emailVerified } = profile;
  if (email === undefined || !isOfDomain(token.issuer, email, emailVerified)) throw NoAddress();
  const there = await userByEmail(parts.users, foldEmail(email));
  if (there === undefined && !token.issuer.createUsers) throw UnknownPerson();
  if (there?.disabledAt !== undefined) throw AccountDisabled();
  if (there !== undefined) requireLinkable(token.issuer, there, emailVerified);

  // The account is committed at once, since tenancy is called with this person before the call returns.
  const work = parts.store.begin();
  const user = there ?? work.insert(parts.users, userOf(email, profile, parts.now()));
  if (there === undefined) work.publish(userCreated(context, user));
  const identity = work.insert(parts.identities, {
    id: identityIdOf(token.issuer.issuer, token.subject),
    issuer: token.issuer.issuer,
    subject: token.subject,
    userId: user.id,
    ...(emailVerified ? { verifiedEmail: email } : {}),
    signedInAt: 0,
    createdAt: new Date(parts.now()).toISOString(),
  });
  await work.commit();
  return { user, identity };
}

/** Returns whether the issuer may use the address. A restriction to domains requires a verified address. */
function isOfDomain({ emailDomains }: Issuer, email: string, verified: boolean): boolean {
  return emailDomains.length === 0 || (verified && emailDomains.includes(emailDomainOf(email)));
}

/**
 * Throws `invalid_credentials` unless the token may be linked to an existing account. Anyone may have created an account
 * with another person's address in advance. So both sides must be verified, unless the operator trusts all existing
 * accounts.
 */
function requireLinkable({ linkAccounts }: Issuer, there: UserRecord, verified: boolean): void {
  if (!verified) throw AddressNotProven();
  if (!there.emailVerified && !linkAccounts) throw AccountNotProven();
}

function userOf(email: string, profile: Profile, now: number): Omit<UserRecord, 'version'> {
  const name = profile.name ?? email.slice(0, email.indexOf('@'));
  return { ...newUser({ id: newId(), email, name, now }), ...pick(profile) };
}

function pick({ emailVerified, avatarUrl, locale, timezone }: Profile) {
  return {
    emailVerified,
    ...(avatarUrl === undefined ? {} : { avatarUrl }),
    ...(locale === undefined ? {} : { locale }),
    ...(timezone === undefined ? {} : { timezone }),
  };
}

/** Accepts the open invitations of an address that the issuer has verified, once per issued token. */
export async function joinInvitations(
  { user, identity }: KnownPerson,
  { issuer, claims }: VerifiedToken,
  context: CallContext,
  parts: PeopleParts,
): Promise<void> {
  const { email, emailVerified } = parseProfile(claims);
  const address = emailVerified ? email : identity.verifiedEmail;
  const issuedAt = claims.iat ?? 1;
  if (address === undefined || !isOfDomain(issuer, address, true) || issuedAt <= identity.signedInAt) return;
  const person = { email: address, userId: user.id, userName: user.name };
  await parts.directory.acceptVerifiedAddress(person, context.onward);
  const work = parts.store.begin();
  work.replace(parts.identities, identity, { ...identity, signedInAt: issuedAt });
  await work.commit().catch((error: unknown) => {
    if (!(error instanceof LostRace)) throw error;
  });
}
