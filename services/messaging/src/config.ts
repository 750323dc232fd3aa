import { defineSettings, integer, type Values } from '@commonplace/kit/config';
import { MAIL_SETTINGS } from '@commonplace/platform/mail';
import { PUBLIC_URL } from '@commonplace/platform/settings';

export const config = defineSettings({
  publicUrl: PUBLIC_URL,
  readDays: {
    variable: 'COMMONPLACE_NOTIFICATION_DAYS',
    help: 'days that a notification is kept after it was read',
    parse: integer(1, 3650),
    fallback: 90,
  },
  perPerson: {
    variable: 'COMMONPLACE_NOTIFICATIONS_PER_PERSON',
    help: 'maximum notifications of one tenant that a person has; the oldest are deleted first',
    parse: integer(10, 10_000),
    fallback: 1000,
  },
  auditDays: { help: 'days that audit events are kept', parse: integer(1, 3650), fallback: 400 },
  auditDenialsPerHour: {
    help: 'maximum denials and failures per hour in the audit log of one tenant; further ones are only logged by the process',
    parse: integer(1, 1_000_000),
    fallback: 200,
  },
  groupMembers: { help: 'maximum members of a group conversation', parse: integer(2, 10_000), fallback: 100 },
  channelMembers: { help: 'maximum members of a channel', parse: integer(2, 100_000), fallback: 10_000 },
  conversationsPerTenant: {
    variable: 'COMMONPLACE_CONVERSATIONS',
    help: 'maximum conversations of one tenant',
    parse: integer(1, 10_000_000),
    fallback: 100_000,
  },
  messageAttachments: { help: 'maximum attachments of one message', parse: integer(1, 100), fallback: 10 },
  messageMentions: {
    help: 'maximum people and agents that one message mentions',
    parse: integer(1, 100),
    fallback: 50,
  },
  mentionAllSeconds: {
    help: 'seconds between two mentions of everybody in one conversation',
    parse: integer(0, 86_400),
    fallback: 60,
  },
  eventKeepSeconds: {
    help: 'seconds after its last event within which a stream of events can be resumed; later it starts over',
    parse: integer(60, 86_400),
    fallback: 3_600,
  },
  eventStreamBuffer: {
    help: 'maximum pending events of one reader of a stream; a reader with more is disconnected and resumes when it reconnects',
    parse: integer(10, 100_000),
    fallback: 1_000,
  },
  ...MAIL_SETTINGS,
});

export type Settings = Values<typeof config>;

/** Days that an unread notification is kept. */
export const UNREAD_DAYS = 365;
/** Days that the id of a processed event is kept; longer than any event log keeps the event. */
export const SEEN_DAYS = 8;
