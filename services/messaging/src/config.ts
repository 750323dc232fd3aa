import { integer, type Table, url, type Values } from '@commonplace/kit/config';

export const config = {
  publicUrl: {
    variable: 'COMMONPLACE_PUBLIC_URL',
    help: 'URL that people reach this server by; links to it begin so',
    parse: url('http', 'https'),
    fallback: 'http://127.0.0.1:8080',
  },
  readDays: {
    variable: 'COMMONPLACE_NOTIFICATION_DAYS',
    help: 'days that a notification is kept after it was read',
    parse: integer(1, 3650),
    fallback: 90,
  },
  perPerson: {
    variable: 'COMMONPLACE_NOTIFICATIONS_PER_PERSON',
    help: 'notifications of one tenant that a person has at the most; the oldest make room',
    parse: integer(10, 10_000),
    fallback: 1000,
  },
} satisfies Table;

export type Settings = Values<typeof config>;

export const DAY_MS = 24 * 3600 * 1000;
/** What nobody reads is kept so long. */
export const UNREAD_DAYS = 365;
/** An event is remembered so long after it was taken in: longer than any log keeps it. */
export const SEEN_DAYS = 8;
