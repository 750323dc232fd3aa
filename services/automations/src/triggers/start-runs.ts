import { type Collection, inWork } from '@commonplace/kit/store';
import { isTrustedRole } from '@commonplace/platform/memberships';
import type { AutomationRecord } from '../definitions/records.js';
import type { Shared } from '../parts.js';
import { type RunRecords, startRun } from '../runs/start.js';
import type { ActiveTrigger, ActiveTriggers } from './active.js';
import { matchesEvent } from './match.js';
import { actsAsOf, requestOf } from './request.js';
import { Sights } from './sight.js';
import type { TriggerEvent } from './trigger-event.js';

export interface StartParts extends Pick<Shared, 'store' | 'peers' | 'memberships' | 'systemCall' | 'now'> {
  readonly automations: Collection<AutomationRecord>;
  readonly records: RunRecords;
  readonly active: ActiveTriggers;
}

/** An event, and an automation that it may start. */
interface Candidate {
  readonly event: TriggerEvent;
  readonly trigger: ActiveTrigger;
}

/** Maximum number of runs that one unit of work creates. */
const MAX_RUNS_PER_UNIT = 20;
/** Number of automations whose runs are created concurrently. */
const CONCURRENCY = 8;
/** Maximum attempts to match events, since automations may change in the meantime. */
const MAX_ATTEMPTS = 5;
/** Milliseconds by which the clocks of two processes may differ. */
const CLOCK_SKEW_MS = 1_000;

/** Returns the automations that events may start, as far as the events' own data shows, in the order of the events. */
export async function candidatesOf(
  { active, store }: Pick<StartParts, 'active' | 'store'>,
  events: readonly TriggerEvent[],
): Promise<Candidate[]> {
  const byWorkspace = await active.of(events.map(({ workspaceId }) => workspaceId));
  const skewMs = store.isExclusive ? 0 : CLOCK_SKEW_MS;
  return events.flatMap((event) =>
    (byWorkspace.get(event.workspaceId) ?? [])
      .filter(({ trigger, createdAt }) => matchesEvent(trigger, event) && !isBefore(event.time, createdAt, skewMs))
      .map((trigger) => ({ event, trigger })),
  );
}

/** Returns whether an event is older than an automation. Such an event starts nothing, however late it arrives. */
const isBefore = (time: string, createdAt: string, skewMs: number): boolean =>
  Date.parse(time) < Date.parse(createdAt) - skewMs;

/** Starts the runs for events, once for each automation and event, however often it is called. */
export async function startRuns(parts: StartParts, events: readonly TriggerEvent[]): Promise<void> {
  for (let left = events, tries = 1; left.length > 0; tries++) {
    const stale = await startMatching(parts, await candidatesOf(parts, left));
    if (stale.size === 0) return;
    if (tries === MAX_ATTEMPTS) throw new Error('automations change too often to start their runs');
    parts.active.forget();
    left = left.filter((event) => stale.has(event));
  }
}

/** Starts the runs of matching candidates. Returns the events that have to be matched again. */
async function startMatching(parts: StartParts, candidates: readonly Candidate[]): Promise<Set<TriggerEvent>> {
  const stale = new Set<TriggerEvent>();
  if (candidates.length === 0) return stale;
  const queries = candidates.flatMap(({ event, trigger }) =>
    readersOf(event, trigger).map((userId) => ({ event, userId })),
  );
  const members = new Set(
    candidates.flatMap(({ event, trigger }) => [trigger.actsAs.userId, personOf(event) ?? []].flat()),
  );
  const sights = await Sights.read(parts, queries, members);
  const lanes = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    if (!isOpen(candidate, sights)) continue;
    const { automationId } = candidate.trigger;
    lanes.set(automationId, [...(lanes.get(automationId) ?? []), candidate]);
  }
  const all = [...lanes.values()];
  for (let from = 0; from < all.length; from += CONCURRENCY) {
    await Promise.all(all.slice(from, from + CONCURRENCY).map((lane) => startLane(parts, lane, sights, stale)));
  }
  return stale;
}

/** Returns the people who must see an event: the person whose rights the run has, and the automation's author. */
function readersOf(event: TriggerEvent, trigger: ActiveTrigger): string[] {
  return [...new Set([actsAsOf(trigger, event).userId, trigger.actsAs.userId])];
}

/** Returns whether the automation's person still belongs to its workspace, and the workspace is not archived. */
function isOpen({ trigger }: Candidate, sights: Sights): boolean {
  const membership = sights.person(trigger.actsAs.userId)?.workspaces.get(trigger.workspaceId);
  return membership !== undefined && !membership.archived;
}

/** Starts the runs of one automation, in the order of their events. */
async function startLane(
  parts: StartParts,
  lane: readonly Candidate[],
  sights: Sights,
  stale: Set<TriggerEvent>,
): Promise<void> {
  const seen = lane.flatMap((candidate) => {
    const { event, trigger } = candidate;
    const data = sights.dataFor(trigger.trigger, event, readersOf(event, trigger));
    return data === undefined ? [] : [{ ...candidate, data }];
  });
  for (let from = 0; from < seen.length; from += MAX_RUNS_PER_UNIT) {
    const some = seen.slice(from, from + MAX_RUNS_PER_UNIT);
    const isStale = await inWork(parts.store, async (work) => {
      for (const { event, trigger, data } of some) {
        const automation = await work.get(parts.automations, trigger.automationId);
        if (!automation?.isActive) return false;
        if (automation.definitionVersion !== trigger.definitionVersion) return true;
        const request = requestOf(automation.id, automation.definition, event, data, isGuest(event, sights));
        await startRun(parts.records, automation, request, work, parts.now());
      }
      return false;
    });
    if (!isStale) continue;
    for (const { event } of seen.slice(from)) stale.add(event);
    return;
  }
}

/** Returns the person behind an event, whatever their credential. */
function personOf({ source: { actor } }: TriggerEvent): string | undefined {
  return actor?.type === 'user' ? actor.id : actor?.person;
}

/**
 * Returns whether the person behind an event has less than the role commenter, so that their text must not be taken as
 * instructions.
 */
function isGuest(event: TriggerEvent, sights: Sights): boolean {
  const userId = personOf(event);
  if (userId === undefined) return false;
  return !isTrustedRole(sights.person(userId)?.workspaces.get(event.workspaceId)?.role);
}
