import { integer, type Table, url, type Values } from '@commonplace/kit/config';
import { MAIL_SETTINGS } from '@commonplace/platform/mail';

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
  auditDays: {
    variable: 'COMMONPLACE_AUDIT_DAYS',
    help: 'days that audit events are kept',
    parse: integer(1, 3650),
    fallback: 400,
  },
  auditDenialsPerHour: {
    variable: 'COMMONPLACE_AUDIT_DENIALS_PER_HOUR',
    help: 'denials and failures that the audit log of one tenant takes in an hour; more are only logged by the process',
    parse: integer(1, 1_000_000),
    fallback: 200,
  },
  groupMembers: {
    variable: 'COMMONPLACE_GROUP_MEMBERS',
    help: 'members of a group conversation at the most',
    parse: integer(2, 10_000),
    fallback: 100,
  },
  channelMembers: {
    variable: 'COMMONPLACE_CHANNEL_MEMBERS',
    help: 'members of a channel at the most',
    parse: integer(2, 100_000),
    fallback: 10_000,
  },
  conversationsPerTenant: {
    variable: 'COMMONPLACE_CONVERSATIONS',
    help: 'conversations of one tenant at the most',
    parse: integer(1, 10_000_000),
    fallback: 100_000,
  },
  messageAttachments: {
    variable: 'COMMONPLACE_MESSAGE_ATTACHMENTS',
    help: 'attachments of one message at the most',
    parse: integer(1, 100),
    fallback: 10,
  },
  messageMentions: {
    variable: 'COMMONPLACE_MESSAGE_MENTIONS',
    help: 'people and agents that one message mentions at the most',
    parse: integer(1, 100),
    fallback: 50,
  },
  mentionAllSeconds: {
    variable: 'COMMONPLACE_MENTION_ALL_SECONDS',
    help: 'seconds between two mentions of everybody in one conversation',
    parse: integer(0, 86_400),
    fallback: 60,
  },
  eventKeepSeconds: {
    variable: 'COMMONPLACE_EVENT_KEEP_SECONDS',
    help: 'seconds for which a stream of events resumes after its last event; later it begins anew',
    parse: integer(60, 86_400),
    fallback: 3_600,
  },
  eventStreamBuffer: {
    variable: 'COMMONPLACE_EVENT_STREAM_BUFFER',
    help: 'events that wait for one reader of a stream; a reader with more is disconnected, and resumes when it comes back',
    parse: integer(10, 100_000),
    fallback: 1_000,
  },
  ...MAIL_SETTINGS,
} satisfies Table;

export type Settings = Values<typeof config>;

/** Days that an unread notification is kept. */
export const UNREAD_DAYS = 365;
/** Days that the id of a processed event is kept; longer than any event log keeps the event. */
export const SEEN_DAYS = 8;
