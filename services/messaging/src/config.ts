import { defineSettings, type Values, wholeNumber } from '@commonplace/kit/config';
import { MAIL_SETTINGS } from '@commonplace/platform/mail';
import { PUBLIC_URL } from '@commonplace/platform/settings';

export const config = defineSettings({
  publicUrl: PUBLIC_URL,
  notificationDays: wholeNumber(90, [1, 3650], 'days that a notification is kept after it was read'),
  notificationsPerPerson: wholeNumber(
    1000,
    [10, 10_000],
    'maximum notifications of one tenant that a person has; the oldest are deleted first',
  ),
  auditDays: wholeNumber(400, [1, 3650], 'days that audit events are kept'),
  auditDenialsPerHour: wholeNumber(
    200,
    [1, 1_000_000],
    'maximum denials and failures per hour in the audit log of one tenant; further ones are only logged by the process',
  ),
  groupMembers: wholeNumber(100, [2, 10_000], 'maximum members of a group conversation'),
  channelMembers: wholeNumber(10_000, [2, 100_000], 'maximum members of a channel'),
  conversations: wholeNumber(100_000, [1, 10_000_000], 'maximum conversations of one tenant'),
  messageAttachments: wholeNumber(10, [1, 100], 'maximum attachments of one message'),
  messageMentions: wholeNumber(50, [1, 100], 'maximum people and agents that one message mentions'),
  mentionAllSeconds: wholeNumber(60, [0, 86_400], 'seconds between two mentions of everybody in one conversation'),
  eventKeepSeconds: wholeNumber(
    3_600,
    [60, 86_400],
    'seconds after its last event within which a stream of events can be resumed; later it starts over',
  ),
  eventStreamBuffer: wholeNumber(
    1_000,
    [10, 100_000],
    'maximum pending events of one reader of a stream; a reader with more is disconnected and resumes when it reconnects',
  ),
  mentionMails: wholeNumber(
    30,
    [1, 10_000],
    'maximum e-mails per hour that tell one person of mentions; all mentions are among the notifications',
  ),
  ...MAIL_SETTINGS,
});

export type Settings = Values<typeof config>;

/** Days that an unread notification is kept. */
export const UNREAD_DAYS = 365;
/** Days that the id of a processed event is kept; longer than any event log keeps the event. */
export const SEEN_DAYS = 8;
