import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { LostRace, UniqueTaken, type UnitOfWork } from '@commonplace/kit/store';
import { DAY_MS, SEEN_DAYS, UNREAD_DAYS } from '../config.js';
import { type Draft, personBehind } from '../domain/draft.js';
import { SOURCES } from '../domain/sources.js';
import type { Parts } from '../parts.js';
import { inboxOf, type Notification } from '../stores/notifications.js';

/** How often a unit is tried while others write to the same inbox. */
const TRIES = 5;
/** People who are told of one event at the most. */
const MOST_PEOPLE = 500;

/** Takes in one event, once however often it comes: people are told in the same commit that remembers it. */
export async function takeIn(parts: Parts, event: DomainEvent): Promise<void> {
  const drafts = SOURCES[event.type]?.(event) ?? [];
  if (drafts.length === 0) return;
  const addressed = drafts.map((draft) => ({ draft, to: peopleOf(event, draft) }));
  for (let tries = 1; ; tries++) {
    if ((await parts.seenEvents.get(event.id)) !== undefined) return;
    const work = parts.store.begin();
    for (const { draft, to } of addressed) {
      for (const userId of to) await tell(parts, work, event, draft, userId);
    }
    work.insert(parts.seenEvents, { id: event.id, expiresAt: daysFrom(parts.now(), SEEN_DAYS) });
    try {
      return await work.commit();
    } catch (error) {
      if (tries === TRIES || !(error instanceof LostRace || error instanceof UniqueTaken)) throw error;
    }
  }
}

/** Whom a draft is for: never who did it. */
function peopleOf(event: DomainEvent, { to }: Draft): string[] {
  const doer = personBehind(event);
  return [...new Set(to)].filter((userId) => userId !== '' && userId !== doer).slice(0, MOST_PEOPLE);
}

/** Puts a draft into a person's inbox, or counts it in with an unread one of its kind. */
async function tell(parts: Parts, work: UnitOfWork, event: DomainEvent, draft: Draft, userId: string): Promise<void> {
  const { notifications } = parts;
  const inbox = inboxOf(userId, draft.orgId);
  const openKey = `${inbox}:${draft.groupKey}`;
  const { type = 'system', id = '', name = '' } = event.actor ?? {};
  const latest = {
    actor: { type, id, name },
    facts: draft.facts,
    at: event.time,
    expiresAt: daysFrom(parts.now(), UNREAD_DAYS),
  };
  const [open] = await notifications.find({ where: { openKey }, limit: 1 });
  if (open !== undefined) {
    work.replace(notifications, open, { ...open, ...latest, count: open.count + 1 });
    return;
  }
  await makeRoom(parts, work, inbox);
  work.insert(notifications, {
    id: newId(),
    ...(event.tenant === undefined ? {} : { tenant: event.tenant }),
    inbox,
    openKey,
    count: 1,
    type: draft.type,
    groupKey: draft.groupKey,
    target: draft.target,
    ...(draft.workspaceId === undefined ? {} : { workspaceId: draft.workspaceId }),
    state: 'unread',
    ...latest,
  } satisfies Omit<Notification, 'version'>);
}

/** The oldest go where an inbox is full. */
async function makeRoom({ notifications, settings }: Parts, work: UnitOfWork, inbox: string): Promise<void> {
  const count = await notifications.count({ inbox }, settings.perPerson + 100);
  const over = count - settings.perPerson + 1;
  if (over <= 0) return;
  const oldest = await notifications.find({ where: { inbox }, sort: ['at'], limit: over });
  for (const one of oldest) work.remove(notifications, one);
}

export function daysFrom(now: number, days: number): string {
  return new Date(now + days * DAY_MS).toISOString();
}
