import { integer, type Table, url, type Values } from '@commonplace/kit/config';

export const config = {
  publicUrl: {
    variable: 'COMMONPLACE_PUBLIC_URL',
    help: 'URL that people reach this server by; links to it begin so',
    parse: url('http', 'https'),
    fallback: 'http://127.0.0.1:8080',
  },
  orgMembers: {
    variable: 'COMMONPLACE_ORG_MEMBERS',
    help: 'most members of one Org, open invitations included',
    parse: integer(1, 1_000_000),
    fallback: 10_000,
  },
  orgRetentionDays: {
    variable: 'COMMONPLACE_ORG_RETENTION_DAYS',
    help: 'days that a deleted Org is kept, and can be restored',
    parse: integer(0, 3650),
    fallback: 30,
  },
} satisfies Table;

export type Settings = Values<typeof config>;

export const DAY_MS = 24 * 3600 * 1000;
/** An invitation can be accepted so long. */
export const INVITATION_MS = 14 * DAY_MS;
/** Milliseconds that an answer waits for the counts of another service. */
export const COUNTS_MS = 2000;
/** Pins that one list may hold. */
export const PINS_PER_LIST = 50;
