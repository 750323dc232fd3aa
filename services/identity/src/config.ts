import { integer, oneOf, type Table } from '@commonplace/kit/config';
import { parseSecrets } from './domain/secrets.js';
import { type Issuer, parseIssuers } from './oidc/issuers.js';

export const config = {
  secrets: {
    variable: 'COMMONPLACE_SECRET_KEY',
    help: '32 random bytes or more, in base64 or hex; to rotate, put a new one and a comma before the old one',
    parse: parseSecrets,
    secret: true,
  },
  signUp: {
    variable: 'COMMONPLACE_SIGN_UP',
    help: 'who may make an account: those with an invitation (invite), anybody (open), nobody (closed)',
    parse: oneOf('invite', 'open', 'closed'),
    fallback: 'invite' as const,
  },
  sessionIdleHours: {
    variable: 'COMMONPLACE_SESSION_IDLE_HOURS',
    help: 'hours without a request after which a browser session ends',
    parse: integer(1, 24 * 365),
    fallback: 12,
  },
  sessionDays: {
    variable: 'COMMONPLACE_SESSION_DAYS',
    help: 'days after which a browser session ends in any case',
    parse: integer(1, 365),
    fallback: 30,
  },
  signInTries: {
    variable: 'COMMONPLACE_SIGN_IN_TRIES',
    help: 'failed sign-ins in 15 minutes for one account from one place; 5 times as many for a place, 10 for an account',
    parse: integer(1, 1_000_000),
    fallback: 10,
  },
  keysPerPerson: {
    variable: 'COMMONPLACE_KEYS_PER_PERSON',
    help: 'Personal API keys that one person may have',
    parse: integer(0, 10_000),
    fallback: 50,
  },
  keysPerOrg: {
    variable: 'COMMONPLACE_KEYS_PER_ORG',
    help: 'API keys that one Org may have',
    parse: integer(0, 10_000),
    fallback: 200,
  },
  issuers: {
    variable: 'COMMONPLACE_OIDC_ISSUERS',
    help: 'identity providers whose tokens are accepted: issuer|audience,… or a JSON list (see the README of identity)',
    parse: parseIssuers,
    fallback: [] as readonly Issuer[],
  },
} satisfies Table;
