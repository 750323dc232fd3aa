import { defineSettings, oneOf, shaped, text, type Values, wholeNumber } from '@commonplace/kit/config';
import { IPV6_PREFIX } from '@commonplace/kit/network';
import { MAIL_SETTINGS } from '@commonplace/platform/mail';
import { PUBLIC_URL } from '@commonplace/platform/settings';
import { parseSecrets } from './domain/secrets.js';
import { type Issuer, parseIssuers, parseIssuerUrl } from './oidc/issuers.js';
import { MAX_PASSKEYS } from './stores/passkeys.js';
import { MAX_SESSIONS } from './stores/sessions.js';

/** A JSON list, or `issuer|audience` pairs separated by commas. */
const ISSUERS = '\\s*\\[(.|\\s)*\\]\\s*|https?://[^|,]+\\|[^|,]+(,https?://[^|,]+\\|[^|,]+)*';

export const config = defineSettings({
  secrets: {
    variable: 'COMMONPLACE_SECRET_KEY',
    common: 'key of sessions; the first start makes one',
    help: '32 random bytes or more, in base64 or hex; to rotate, put the new one and a comma before the old one',
    parse: parseSecrets,
    secret: true,
    seals: true,
  },
  signUp: {
    common: 'new accounts: invite, open, closed',
    help: 'who may create an account: people with an invitation (invite), anyone (open), no one (closed)',
    parse: oneOf('invite', 'open', 'closed'),
    fallback: 'invite' as const,
  },
  signUpsPerNetwork: wholeNumber(
    60,
    [1, 1_000_000],
    'maximum accounts per hour that one network may create without an invitation',
  ),
  signUpsPerHour: wholeNumber(
    600,
    [1, 1_000_000],
    'maximum accounts per hour that all networks together may create without an invitation',
  ),
  unlimited: {
    variable: 'COMMONPLACE_RATE_LIMITS',
    help: "'off' also switches off the limits on sign-ups",
    // The gateway reads the same variable, and checks its form.
    parse: (value: string) => value.trim() === 'off',
    fallback: false,
  },
  ipv6Prefix: IPV6_PREFIX,
  sessionsPerPerson: wholeNumber(
    50,
    [1, MAX_SESSIONS],
    'maximum browser sessions of one person; a further one ends the oldest',
  ),
  sessionIdleHours: wholeNumber(12, [1, 24 * 365], 'hours without a request after which a browser session ends'),
  sessionDays: wholeNumber(30, [1, 365], 'days after which a browser session ends even if it is used'),
  signInTries: wholeNumber(
    10,
    [1, 1_000_000],
    'failed sign-ins in 15 minutes for one account from one network; 5 times as many for a network, 10 times for an account',
  ),
  passwordMinLength: wholeNumber(8, [8, 64], 'minimum number of characters of a new password'),
  breachedPasswords: {
    help: 'file of breached passwords, which are refused: SHA-1 hashes in ascending order, as haveibeenpwned.com offers them',
    parse: text,
    fallback: undefined as string | undefined,
  },
  resetMinutes: wholeNumber(60, [5, 24 * 60], 'minutes that a link to reset a password is valid; it works once'),
  reauthenticationMinutes: wholeNumber(
    30,
    [1, 24 * 60],
    'minutes after a sign-in in which a session may make sensitive changes without reauthentication',
  ),
  secondFactor: {
    help: 'required: sessions of local accounts can only set up a second factor until they have one; optional',
    parse: oneOf('optional', 'required'),
    fallback: 'optional' as const,
  },
  passkeysPerPerson: wholeNumber(20, [0, MAX_PASSKEYS], 'maximum passkeys of one person; 0: none can be added'),
  mailRequests: wholeNumber(
    5,
    [1, 10_000],
    'maximum password-reset and verification e-mails per hour for one address; 10 times as many for a network',
  ),
  publicUrl: PUBLIC_URL,
  ...MAIL_SETTINGS,
  keysPerPerson: wholeNumber(50, [0, 10_000], 'maximum Personal API keys of one person'),
  keysPerOrg: wholeNumber(200, [0, 10_000], 'maximum API keys of one Org'),
  keyLifetimeDays: wholeNumber(
    90,
    [0, 36_500],
    'default lifetime in days of a new API key whose request names no expiry; 0: it does not expire',
  ),
  maxKeyLifetimeDays: wholeNumber(
    0,
    [0, 36_500],
    'maximum lifetime in days of a new API key, besides the limit of its Org; 0: no limit',
  ),
  formerKeyHours: wholeNumber(
    24,
    [0, 24 * 90],
    'hours that the secret of an API key works on after the key was rotated; 0: it ends at once',
  ),
  oidcIssuer: {
    help: 'identity provider that people sign in with in a browser; COMMONPLACE_OIDC_ISSUERS determines what it may do',
    parse: shaped({ kind: 'url', schemes: ['https', 'http'], plainOnLoopback: true }, parseIssuerUrl),
    fallback: undefined as string | undefined,
  },
  oidcClientId: {
    help: 'id of the client registered there, with the redirect URL <public URL>/auth/oidc/callback',
    parse: text,
    fallback: undefined as string | undefined,
  },
  oidcClientSecret: {
    help: 'secret of that client; none for a public client',
    parse: text,
    fallback: undefined as string | undefined,
    secret: true,
  },
  oidcIssuers: {
    help: 'identity providers whose tokens are accepted: issuer|audience,… or a JSON list (see the README of identity)',
    parse: shaped({ kind: 'text', pattern: ISSUERS }, parseIssuers),
    fallback: [] as readonly Issuer[],
  },
});

export type Settings = Values<typeof config>;
