import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { type Collection, LostRace, type Store, UniqueTaken, type UnitOfWork } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { SEEN_DAYS, type Settings, UNREAD_DAYS } from '../config.js';
import { daysAfter } from '../domain/days.js';
import { type Cause, type Draft, personBehind } from '../domain/draft.js';
import { SOURCES } from '../domain/sources.js';
import { enqueueMail, type MailParts, mailAddressesOf } from './mail.js';
import { inboxOf, type Notification, type SeenEvent } from './records.js';

/** Dependencies for creating notifications. */
export interface WriteParts extends MailParts {
  readonly settings: Pick<Settings, 'publicUrl' | 'notificationsPerPerson'>;
  readonly store: Store;
  readonly memberships: MembershipCache;
  readonly notifications: Collection<Notification>;
  readonly seenEvents: Collection<SeenEvent>;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

/** Maximum attempts to commit, since other processes may write to the same inbox. */
export const MAX_ATTEMPTS = 5;
/** Maximum number of recipients of one draft. */
export const MAX_RECIPIENTS = 500;

/**
 * Creates the notifications of an event exactly once, however often the event arrives: the commit also records the
 * event.
 */
export async function takeIn(parts: WriteParts, event: DomainEvent): Promise<void> {
  await notifyOnce(parts, event, SOURCES[event.type]?.(event) ?? [], event.id);
}

/** Creates notifications exactly once, however often it is called with the same mark. */
export async function notifyOnce(
  parts: WriteParts,
  event: Cause,
  drafts: readonly Draft[],
  mark: string,
): Promise<void> {
  if (drafts.length === 0) return;
  const addressed = await Promise.all(
    drafts.map(async (draft) => ({ draft, to: await membersAmong(parts, draft, peopleOf(event, draft)) })),
  );
  const addresses = await mailAddressesOf(parts, addressed);
  for (let tries = 1; ; tries++) {
    if ((await parts.seenEvents.get(mark)) !== undefined) return;
    const work = parts.store.begin();
    for (const { draft, to } of addressed) {
      for (const userId of to) {
        await addToInbox(parts, work, event, draft, userId);
        enqueueMail(parts, work, event, draft, addresses.get(userId));
      }
    }
    work.insert(parts.seenEvents, { id: mark, expiresAt: daysAfter(parts.now(), SEEN_DAYS) });
    try {
      return await work.commit();
    } catch (error) {
      if (tries === MAX_ATTEMPTS || !(error instanceof LostRace || error instanceof UniqueTaken)) throw error;
    }
  }
}

/** A draft that combines several events: `event` is the latest of them. */
export interface Notice {
  readonly event: Cause;
  readonly draft: Draft;
  /** Number of events. */
  readonly count: number;
}

/** Creates notifications and records their events in one commit. Returns false if the commit lost a race. */
export async function commitNotices(
  parts: WriteParts,
  notices: readonly Notice[],
  marks: readonly string[],
): Promise<boolean> {
  const work = parts.store.begin();
  for (const { event, draft, count } of notices) {
    for (const userId of peopleOf(event, draft)) await addToInbox(parts, work, event, draft, userId, count);
  }
  const expiresAt = daysAfter(parts.now(), SEEN_DAYS);
  for (const id of marks) work.insert(parts.seenEvents, { id, expiresAt });
  try {
    await work.commit();
    return true;
  } catch (error) {
    if (error instanceof LostRace || error instanceof UniqueTaken) return false;
    throw error;
  }
}

/** Returns the recipients of a draft, without the person who caused the event. */
function peopleOf(event: Cause, { to, evenDoer = false }: Draft): string[] {
  const doer = evenDoer ? undefined : personBehind(event);
  return [...new Set(to)].filter((userId) => userId !== '' && userId !== doer).slice(0, MAX_RECIPIENTS);
}

/** Returns the people whom a draft may notify: all, or only members of its workspace if the draft says so. */
async function membersAmong(
  { memberships, systemCall }: WriteParts,
  { membersOnly = false, workspaceId = '' }: Draft,
  people: readonly string[],
): Promise<readonly string[]> {
  if (!membersOnly) return people;
  const known = await Promise.all(people.map((userId) => memberships.of(userId, systemCall())));
  return people.filter((_, i) => known[i]?.workspaces.has(workspaceId));
}

/** Adds a draft to a person's inbox, or to the count of an unread notification of the same group. */
async function addToInbox(
  parts: WriteParts,
  work: UnitOfWork,
  event: Cause,
  draft: Draft,
  userId: string,
  count = 1,
): Promise<void> {
  const { notifications } = parts;
  const inbox = inboxOf(userId, draft.orgId);
  const openKey = `${inbox}:${draft.groupKey}`;
  const { type = 'system', id = '', name = '' } = event.actor ?? {};
  const latest = {
    actor: { type, id, name },
    facts: draft.facts,
    at: event.time,
    expiresAt: daysAfter(parts.now(), UNREAD_DAYS),
  };
  const [open] = await notifications.find({ where: { openKey }, limit: 1 });
  if (open !== undefined) {
    work.replace(notifications, open, { ...open, ...latest, count: open.count + count });
    return;
  }
  await makeRoom(parts, work, inbox);
  work.insert(notifications, {
    id: newId(),
    ...(event.tenant === undefined ? {} : { tenant: event.tenant }),
    inbox,
    openKey,
    count,
    type: draft.type,
    groupKey: draft.groupKey,
    target: draft.target,
    ...(draft.workspaceId === undefined ? {} : { workspaceId: draft.workspaceId }),
    state: 'unread',
    ...latest,
  } satisfies Omit<Notification, 'version'>);
}

/** Deletes the oldest notifications of an inbox that has reached its limit. */
async function makeRoom({ notifications, settings }: WriteParts, work: UnitOfWork, inbox: string): Promise<void> {
  const count = await notifications.count({ inbox }, settings.notificationsPerPerson + 100);
  const over = count - settings.notificationsPerPerson + 1;
  if (over <= 0) return;
  const oldest = await notifications.find({ where: { inbox }, sort: ['at'], limit: over });
  for (const one of oldest) work.remove(notifications, one);
}
