import { integer, oneOf, shaped, type Table, text, type Values } from '@commonplace/kit/config';
import { IPV6_PREFIX } from '@commonplace/kit/network';
import { MAIL_SETTINGS } from '@commonplace/platform/mail';
import { PUBLIC_URL } from '@commonplace/platform/settings';
import { parseSecrets } from './domain/secrets.js';
import { type Issuer, parseIssuers, parseIssuerUrl } from './oidc/issuers.js';
import { MAX_PASSKEYS } from './stores/passkeys.js';
import { MAX_SESSIONS } from './stores/sessions.js';

/** A JSON list, or `issuer|audience` pairs separated by commas. */
const ISSUERS = '\\s*\\[(.|\\s)*\\]\\s*|https?://[^|,]+\\|[^|,]+(,https?://[^|,]+\\|[^|,]+)*';

export const config = {
  secrets: {
    variable: 'COMMONPLACE_SECRET_KEY',
    common: 'key of sessions; the first start makes one',
    help: '32 random bytes or more, in base64 or hex; to rotate, put the new one and a comma before the old one',
    parse: parseSecrets,
    secret: true,
    seals: true,
  },
  signUp: {
    variable: 'COMMONPLACE_SIGN_UP',
    common: 'new accounts: invite, open, closed',
    help: 'who may create an account: people with an invitation (invite), anyone (open), no one (closed)',
    parse: oneOf('invite', 'open', 'closed'),
    fallback: 'invite' as const,
  },
  signUpsPerNetwork: {
    variable: 'COMMONPLACE_SIGN_UPS_PER_NETWORK',
    help: 'maximum accounts per hour that one network may create without an invitation',
    parse: integer(1, 1_000_000),
    fallback: 60,
  },
  signUpsPerHour: {
    variable: 'COMMONPLACE_SIGN_UPS_PER_HOUR',
    help: 'maximum accounts per hour that all networks together may create without an invitation',
    parse: integer(1, 1_000_000),
    fallback: 600,
  },
  unlimited: {
    variable: 'COMMONPLACE_RATE_LIMITS',
    help: "'off' also switches off the limits on sign-ups",
    // The gateway reads the same variable, and checks its form.
    parse: (value: string) => value.trim() === 'off',
    fallback: false,
  },
  ipv6Prefix: IPV6_PREFIX,
  sessionsPerPerson: {
    variable: 'COMMONPLACE_SESSIONS_PER_PERSON',
    help: 'maximum browser sessions of one person; a further one ends the oldest',
    parse: integer(1, MAX_SESSIONS),
    fallback: 50,
  },
  sessionIdleHours: {
    variable: 'COMMONPLACE_SESSION_IDLE_HOURS',
    help: 'hours without a request after which a browser session ends',
    parse: integer(1, 24 * 365),
    fallback: 12,
  },
  sessionDays: {
    variable: 'COMMONPLACE_SESSION_DAYS',
    help: 'days after which a browser session ends even if it is used',
    parse: integer(1, 365),
    fallback: 30,
  },
  signInTries: {
    variable: 'COMMONPLACE_SIGN_IN_TRIES',
    help: 'failed sign-ins in 15 minutes for one account from one network; 5 times as many for a network, 10 times for an account',
    parse: integer(1, 1_000_000),
    fallback: 10,
  },
  passwordMinLength: {
    variable: 'COMMONPLACE_PASSWORD_MIN_LENGTH',
    help: 'minimum number of characters of a new password',
    parse: integer(8, 64),
    fallback: 8,
  },
  breachedPasswords: {
    variable: 'COMMONPLACE_BREACHED_PASSWORDS',
    help: 'file of breached passwords, which are refused: SHA-1 hashes in ascending order, as haveibeenpwned.com offers them',
    parse: text,
    fallback: undefined as string | undefined,
  },
  resetMinutes: {
    variable: 'COMMONPLACE_RESET_MINUTES',
    help: 'minutes that a link to reset a password is valid; it works once',
    parse: integer(5, 24 * 60),
    fallback: 60,
  },
  reauthenticationMinutes: {
    variable: 'COMMONPLACE_REAUTHENTICATION_MINUTES',
    help: 'minutes after a sign-in in which a session may make sensitive changes without reauthentication',
    parse: integer(1, 24 * 60),
    fallback: 30,
  },
  secondFactor: {
    variable: 'COMMONPLACE_SECOND_FACTOR',
    help: 'required: sessions of local accounts can only set up a second factor until they have one; optional',
    parse: oneOf('optional', 'required'),
    fallback: 'optional' as const,
  },
  passkeysPerPerson: {
    variable: 'COMMONPLACE_PASSKEYS_PER_PERSON',
    help: 'maximum passkeys of one person; 0: none can be added',
    parse: integer(0, MAX_PASSKEYS),
    fallback: 20,
  },
  mailRequests: {
    variable: 'COMMONPLACE_MAIL_REQUESTS',
    help: 'maximum password-reset and verification e-mails per hour for one address; 10 times as many for a network',
    parse: integer(1, 10_000),
    fallback: 5,
  },
  publicUrl: PUBLIC_URL,
  ...MAIL_SETTINGS,
  keysPerPerson: {
    variable: 'COMMONPLACE_KEYS_PER_PERSON',
    help: 'maximum Personal API keys of one person',
    parse: integer(0, 10_000),
    fallback: 50,
  },
  keysPerOrg: {
    variable: 'COMMONPLACE_KEYS_PER_ORG',
    help: 'maximum API keys of one Org',
    parse: integer(0, 10_000),
    fallback: 200,
  },
  keyLifetimeDays: {
    variable: 'COMMONPLACE_KEY_LIFETIME_DAYS',
    help: 'default lifetime in days of a new API key whose request names no expiry; 0: it does not expire',
    parse: integer(0, 36_500),
    fallback: 90,
  },
  maxKeyLifetimeDays: {
    variable: 'COMMONPLACE_MAX_KEY_LIFETIME_DAYS',
    help: 'maximum lifetime in days of a new API key, besides the limit of its Org; 0: no limit',
    parse: integer(0, 36_500),
    fallback: 0,
  },
  formerKeyHours: {
    variable: 'COMMONPLACE_FORMER_KEY_HOURS',
    help: 'hours that the secret of an API key works on after the key was rotated; 0: it ends at once',
    parse: integer(0, 24 * 90),
    fallback: 24,
  },
  oidcIssuer: {
    variable: 'COMMONPLACE_OIDC_ISSUER',
    help: 'identity provider that people sign in with in a browser; COMMONPLACE_OIDC_ISSUERS determines what it may do',
    parse: shaped({ kind: 'url', schemes: ['https', 'http'], plainOnLoopback: true }, parseIssuerUrl),
    fallback: undefined as string | undefined,
  },
  oidcClientId: {
    variable: 'COMMONPLACE_OIDC_CLIENT_ID',
    help: 'id of the client registered there, with the redirect URL <public URL>/auth/oidc/callback',
    parse: text,
    fallback: undefined as string | undefined,
  },
  oidcClientSecret: {
    variable: 'COMMONPLACE_OIDC_CLIENT_SECRET',
    help: 'secret of that client; none for a public client',
    parse: text,
    fallback: undefined as string | undefined,
    secret: true,
  },
  issuers: {
    variable: 'COMMONPLACE_OIDC_ISSUERS',
    help: 'identity providers whose tokens are accepted: issuer|audience,… or a JSON list (see the README of identity)',
    parse: shaped({ kind: 'text', pattern: ISSUERS }, parseIssuers),
    fallback: [] as readonly Issuer[],
  },
} satisfies Table;

export type Settings = Values<typeof config>;
