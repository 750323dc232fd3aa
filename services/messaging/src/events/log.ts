import { randomBytes } from 'node:crypto';
import type { DomainEvent, EventBus } from '@commonplace/kit/events';
import { type Collection, LostRace, type Store, UniqueTaken, type UnitOfWork } from '@commonplace/kit/store';
import { draftOf } from '@commonplace/platform/public-events';
import { ContentTurns } from './content-turns.js';
import {
  type ContentThrottle,
  HEAD_ID,
  type LogHead,
  type NewStreamEvent,
  type ReadTenant,
  type StreamEvent,
} from './records.js';

/** Dependencies of the event log. */
interface LogParts {
  readonly settings: { readonly eventKeepSeconds: number };
  readonly store: Store;
  readonly bus: Pick<EventBus, 'broadcast'>;
  readonly streamEvents: Collection<StreamEvent>;
  readonly logHeads: Collection<LogHead>;
  readonly readTenants: Collection<ReadTenant>;
  readonly contentThrottles: Collection<ContentThrottle>;
  /** Returns the current time in epoch milliseconds. */
  now(): number;
}

/** The topic on which appends to the log are broadcast. The broadcast carries no event; listeners read the log. */
export const LOG_TOPIC = 'messaging.events';

/** Milliseconds that events and tenant records are kept beyond the time of resuming, since clocks may differ. */
const MARGIN_MS = 600_000;
/** Maximum attempts to commit, since other processes append as well. */
const MAX_ATTEMPTS = 20;

/** Returns the time `byMs` after an instant in epoch milliseconds, in ISO 8601. */
const isoAfter = (atMs: number, byMs: number): string => new Date(atMs + byMs).toISOString();

/**
 * The durable log of the events that streams deliver, for all tenants with readers. Each append replaces the log's end
 * in the same unit of work, so that numbers increase in commit order: a reader that has read up to a number has missed
 * nothing before it.
 */
export class EventLog {
  constructor(private readonly parts: LogParts) {}

  get keepMs(): number {
    return this.parts.settings.eventKeepSeconds * 1000;
  }

  /** Returns the end of the log; the first call creates it. */
  async head(): Promise<LogHead> {
    const { logHeads, store } = this.parts;
    for (;;) {
      const head = await logHeads.get(HEAD_ID);
      if (head !== undefined) return head;
      const work = store.begin();
      work.insert(logHeads, { id: HEAD_ID, seq: 0, key: randomBytes(32).toString('base64') });
      await work.commit().catch(ignoreLostRace);
    }
  }

  /**
   * Appends events of the bus. It leaves out events that are in the log already, and those of tenants without readers.
   */
  async append(events: readonly DomainEvent[]): Promise<void> {
    const read = await this.tenantsRead(events);
    const drafts = events.flatMap((event) => (read.has(event.tenant ?? '') ? this.keptOf(event) : []));
    if (drafts.length === 0) return;
    const { streamEvents } = this.parts;
    await this.write(async (work) => {
      const known = new Set((await streamEvents.getMany(drafts.map(({ id }) => id))).map(({ id }) => id));
      const turns = new ContentTurns(this.parts, work);
      const fresh: NewStreamEvent[] = [];
      for (const draft of drafts) {
        if (known.has(draft.id)) continue;
        known.add(draft.id);
        if (draft.type !== 'content.updated' || (await turns.take(draft))) fresh.push(draft);
      }
      turns.save();
      return fresh;
    });
  }

  /**
   * Appends the pending events about contents that are due. Returns when the next one is due, in epoch milliseconds;
   * undefined if none is pending.
   */
  async appendDue(): Promise<number | undefined> {
    const { contentThrottles } = this.parts;
    const now = new Date(this.parts.now()).toISOString();
    const due = await contentThrottles.find({ where: { dueAt: { lte: now } }, sort: ['dueAt'], limit: DUE });
    if (due.length > 0) {
      await this.write(async (work) => {
        const turns = new ContentTurns(this.parts, work);
        const events = await turns.takeDue(due.map(({ id }) => id));
        turns.save();
        return events;
      });
    }
    if (due.length === DUE) return this.parts.now();
    const [next] = await contentThrottles.find({ where: { dueAt: { exists: true } }, sort: ['dueAt'], limit: 1 });
    return next?.dueAt === undefined ? undefined : Date.parse(next.dueAt);
  }

  /**
   * Keeps the events of tenants from now on, for as long as streams can resume. Returns for each tenant the number from
   * which on its events are complete; for a tenant without readers for that long, this is a new number.
   */
  async keepFor(tenants: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { readTenants, store, now } = this.parts;
    const since = new Map<string, number>();
    for (let tries = 1; ; tries++) {
      const known = new Map((await readTenants.getMany(tenants)).map((one) => [one.id, one]));
      const work = store.begin();
      const head = await this.head();
      const expiresAt = isoAfter(now(), this.keepMs + MARGIN_MS);
      const renewBefore = isoAfter(now(), this.keepMs + MARGIN_MS / 2);
      const tooLate = isoAfter(now(), MARGIN_MS / 2);
      let isNew = false;
      for (const tenant of tenants) {
        const mark = known.get(tenant);
        if (mark !== undefined && mark.expiresAt > tooLate) {
          since.set(tenant, mark.sinceSeq);
          if (mark.expiresAt < renewBefore) work.replace(readTenants, mark, { ...mark, expiresAt });
          continue;
        }
        isNew = true;
        const begun = { id: tenant, tenant, sinceSeq: head.seq + 1, expiresAt };
        since.set(tenant, begun.sinceSeq);
        if (mark === undefined) work.insert(readTenants, begun);
        else work.replace(readTenants, mark, begun);
      }
      // Skips a number, so that no earlier reader can have stopped at the one where the tenant's events begin.
      if (isNew) work.replace(this.parts.logHeads, head, { ...head, seq: head.seq + 1 });
      try {
        if (work.dirty) await work.commit();
        return since;
      } catch (error) {
        if (tries === MAX_ATTEMPTS) throw error;
        ignoreLostRace(error);
      }
    }
  }

  /**
   * Commits what `plan` writes and the events that it returns, with the next numbers. Calls `plan` again after a lost
   * race.
   */
  private async write(plan: (work: UnitOfWork) => Promise<readonly NewStreamEvent[]>): Promise<void> {
    const { store, streamEvents, logHeads, bus, now } = this.parts;
    for (let tries = 1; ; tries++) {
      const head = await this.head();
      const work = store.begin();
      const fresh = await plan(work);
      const keptAt = new Date(now()).toISOString();
      const expiresAt = isoAfter(now(), this.keepMs + MARGIN_MS);
      for (const [i, one] of fresh.entries()) {
        work.insert(streamEvents, { ...one, seq: head.seq + 1 + i, keptAt, expiresAt });
      }
      if (fresh.length > 0) work.replace(logHeads, head, { ...head, seq: head.seq + fresh.length });
      try {
        if (work.dirty) await work.commit();
        if (fresh.length > 0) bus.broadcast(LOG_TOPIC, String(head.seq + fresh.length));
        return;
      } catch (error) {
        if (tries === MAX_ATTEMPTS) throw error;
        ignoreLostRace(error);
      }
    }
  }

  private async tenantsRead(events: readonly DomainEvent[]): Promise<ReadonlySet<string>> {
    const tenants = [...new Set(events.flatMap(({ tenant }) => tenant ?? []))];
    const now = new Date(this.parts.now()).toISOString();
    const marks = tenants.length === 0 ? [] : await this.parts.readTenants.getMany(tenants);
    return new Set(marks.filter(({ expiresAt }) => expiresAt > now).map(({ id }) => id));
  }

  /**
   * Returns the record of an event. An event that arrives later than streams can resume may have been missed by
   * readers; for it, the record makes readers reset.
   */
  private keptOf(event: DomainEvent): NewStreamEvent[] {
    const { id, tenant = '', time, actor, chain, source } = event;
    const draft = draftOf(event);
    if (draft === undefined) return [];
    const common = { tenant, time, actor: { type: actor?.type ?? 'system', id: actor?.id ?? source.slice(1) } };
    if (Date.parse(time) < this.parts.now() - this.keepMs) {
      const { orgId } = draft;
      return [{ id: `${id}:reset`, ...common, orgId, type: 'reset', audience: {}, data: {} }];
    }
    return [{ id, ...common, ...draft, ...(chain !== undefined && { chain }) }];
  }
}

/** Maximum number of contents whose pending events one unit of work appends. */
const DUE = 200;

function ignoreLostRace(error: unknown): void {
  if (!(error instanceof LostRace || error instanceof UniqueTaken)) throw error;
}
