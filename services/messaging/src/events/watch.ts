import { createWakeSignal } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection } from '@commonplace/kit/store';
import { EventMessage, type WatchEventsRequest } from '@commonplace/proto/messaging/v1/event_stream_service.js';
import { type AccessParts, visibleData } from './access.js';
import type { EventLog } from './log.js';
import type { MemberChanges } from './member-changes.js';
import { createPositions, type Position, type Positions } from './positions.js';
import type { StreamEvent } from './records.js';
import type { Tail, TailReader } from './tail.js';
import { View, type ViewParts } from './view.js';
import { eventMessage, fieldOf } from './wire.js';

export interface WatchParts extends AccessParts, ViewParts {
  readonly settings: { readonly eventStreamBuffer: number };
  readonly log: Log;
  readonly streamEvents: Collection<StreamEvent>;
  readonly eventLog: EventLog;
  readonly tail: Tail;
  readonly memberChanges: MemberChanges;
  now(): number;
}

/** Number of events that one query reads, and maximum number that one access check covers. */
const PAGE = 200;
const CHECKED_AT_ONCE = 50;
/** Milliseconds for which an access check is valid while its events are sent. */
const CHECK_MS = 1_000;
/** Milliseconds between two reads of the person's memberships, in case the event of a change is lost. */
const RECHECK_MS = 15_000;
/**
 * The same for a visitor of a workspace, whose access may also end without an event that names them: with a grant to the
 * Org, at the time when a grant expires, or with the last item that was shared with them.
 */
const VISIT_RECHECK_MS = 1_500;
/** Milliseconds without events after which the stream sends its position and renews the tenants' records. */
const POSITION_MS = 300_000;

/** Streams the events that a request selects, from now on or after `lastEventId`, until the call ends. */
export async function* watchEvents(
  parts: WatchParts,
  { lastEventId, ...wanted }: WatchEventsRequest,
  context: CallContext,
): AsyncGenerator<EventMessage> {
  const view = await View.open(parts, wanted, context);
  const since = await parts.eventLog.keepFor([...view.tenants]);
  const positions = createPositions(Buffer.from((await parts.eventLog.head()).key, 'base64'));
  const stream = new EventStream(parts, view, positions, context.signal);
  try {
    const seen = positions.read(lastEventId)?.seq ?? 0;
    // The events of a tenant may be complete only from a number on that the tail has not reached.
    const start = await parts.tail.join(stream, Math.max(seen, ...since.values()));
    parts.memberChanges.add(stream);
    yield EventMessage.fromPartial({});
    yield* stream.resume(lastEventId, start, since);
    yield* stream.follow();
  } finally {
    parts.memberChanges.delete(stream);
    parts.tail.leave(stream);
    stream.close();
  }
}

/**
 * The stream of one reader. Its buffer is bounded: if the reader is too slow the stream ends, and the client resumes
 * from the log.
 */
class EventStream implements TailReader {
  private buffer: StreamEvent[] = [];
  private overflowed = false;
  private readonly wakeSignal = createWakeSignal();
  /** Lets streams take turns, since one event wakes all readers of a tenant at once. */
  private readonly breathe = createBreathe();
  private recheckAt: number;
  private positionAt: number;
  /** Whether the next check reads memberships without the cache. */
  private isStale = false;

  constructor(
    private readonly parts: WatchParts,
    private readonly view: View,
    private readonly positions: Positions,
    private readonly signal: AbortSignal,
  ) {
    this.recheckAt = parts.now() + this.recheckMs;
    this.positionAt = parts.now() + POSITION_MS;
    signal.addEventListener('abort', this.wakeSignal.wake);
  }

  get tenants(): ReadonlySet<string> {
    return this.view.tenants;
  }

  get userId(): string {
    return this.view.caller.userId;
  }

  private get recheckMs(): number {
    return this.view.isVisit ? VISIT_RECHECK_MS : RECHECK_MS;
  }

  push(event: StreamEvent): void {
    if (this.overflowed) return;
    if (this.view.mayEndBy(event)) this.changed();
    if (!this.view.has(event)) return;
    if (this.buffer.length >= this.parts.settings.eventStreamBuffer) {
      this.overflowed = true;
      this.buffer = [];
      this.parts.log.info('events.slow_reader_dropped', { credential: this.view.caller.credential.id });
    } else this.buffer.push(event);
    this.wakeSignal.wake();
  }

  /** Makes the stream check its access again without the cache, after the events that are being sent. */
  changed(): void {
    this.isStale = true;
    this.recheckAt = 0;
    this.wakeSignal.wake();
  }

  close(): void {
    this.signal.removeEventListener('abort', this.wakeSignal.wake);
    this.wakeSignal.close();
  }

  /** Sends the events after `lastEventId` up to `start`, or a reset if the stream cannot resume. */
  async *resume(lastEventId: string, start: number, since: ReadonlyMap<string, number>): AsyncGenerator<EventMessage> {
    if (lastEventId === '') return yield this.position(start);
    const last = this.positions.read(lastEventId);
    const reason = this.whyNot(last, start, since);
    if (last === undefined || reason !== undefined) return yield this.reset(start, reason ?? 'unknown');
    for (let seq = last.seq; ; ) {
      const where = { tenant: { in: [...this.tenants] }, seq: { gt: seq, lte: start } };
      const missed = await this.parts.streamEvents.find({ where, sort: ['seq'], limit: PAGE });
      yield* this.send(missed.filter((event) => this.view.has(event)));
      seq = missed.at(-1)?.seq ?? seq;
      // A reader that has gone, or that fell behind, must not have the rest of the log read for it.
      if (missed.length < PAGE || this.signal.aborted || this.overflowed) return;
    }
  }

  /** Sends new events until the call ends or the reader is too slow. Throws when the reader loses access. */
  async *follow(): AsyncGenerator<EventMessage> {
    while (!this.signal.aborted && !this.overflowed) {
      const events = this.buffer.splice(0, CHECKED_AT_ONCE);
      if (events.length > 0) yield* this.send(events);
      const now = this.parts.now();
      if (now >= this.recheckAt) await this.recheck(now);
      else if (events.length > 0) continue;
      else if (now >= this.positionAt) {
        await this.parts.eventLog.keepFor([...this.tenants]);
        yield this.position(this.parts.tail.seq);
      } else await this.wakeSignal.wait(Math.max(Math.min(this.recheckAt, this.positionAt) - now, 1));
    }
  }

  /** Sends the events that the reader may see at the time of sending. */
  private async *send(all: readonly StreamEvent[]): AsyncGenerator<EventMessage> {
    for (let at = 0; at < all.length; ) {
      const events = all.slice(at, at + CHECKED_AT_ONCE);
      const checkedAt = Date.now();
      const data = await visibleData(this.parts, this.view, events);
      for (const [i, event] of events.entries()) {
        await this.breathe();
        if (this.signal.aborted || this.overflowed) return;
        at++;
        const seen = data[i];
        if (seen !== undefined) yield this.message(event, seen);
        // A slow reader may take the next event much later, when the check is outdated.
        if (Date.now() - checkedAt > CHECK_MS) break;
      }
    }
  }

  private async recheck(now: number): Promise<void> {
    const isFresh = this.isStale;
    this.isStale = false;
    const before = this.tenants;
    await this.view.recheck(isFresh);
    this.recheckAt = now + this.recheckMs;
    const added = [...this.tenants].filter((tenant) => !before.has(tenant));
    const { tail, eventLog } = this.parts;
    if (added.length > 0) await eventLog.keepFor(added);
    tail.add(this, added);
    tail.remove(
      this,
      [...before].filter((tenant) => !this.tenants.has(tenant)),
    );
  }

  private message(event: StreamEvent, data: StreamEvent['data']): EventMessage {
    this.positionAt = this.parts.now() + POSITION_MS;
    const id = idOf(event, this.positions);
    if (event.type === 'reset') return EventMessage.fromPartial({ id, reset: { reason: 'expired' } });
    return EventMessage.fromPartial({ id, [fieldOf(event.type)]: eventMessage(event, data) });
  }

  private position(seq: number): EventMessage {
    this.positionAt = this.parts.now() + POSITION_MS;
    return EventMessage.fromPartial({ id: this.positions.write({ seq, at: this.parts.now() }), position: {} });
  }

  private reset(seq: number, reason: 'expired' | 'unknown'): EventMessage {
    return EventMessage.fromPartial({ id: this.positions.write({ seq, at: this.parts.now() }), reset: { reason } });
  }

  /** Returns why a stream cannot resume at a position; undefined if all events since then are kept. */
  private whyNot(
    last: Position | undefined,
    start: number,
    since: ReadonlyMap<string, number>,
  ): 'expired' | 'unknown' | undefined {
    if (last === undefined || last.seq > start) return 'unknown';
    const isOld = last.at < this.parts.now() - this.parts.eventLog.keepMs;
    const isKept = [...this.tenants].every((tenant) => last.seq >= (since.get(tenant) ?? Number.POSITIVE_INFINITY));
    return isOld || !isKept ? 'expired' : undefined;
  }
}

/**
 * Caches the ids of events, since all streams of a process share the event objects and each event goes to many streams.
 */
const ids = new WeakMap<StreamEvent, string>();

function idOf(event: StreamEvent, positions: Positions): string {
  const known = ids.get(event) ?? positions.write({ seq: event.seq, at: Date.parse(event.keptAt) });
  ids.set(event, known);
  return known;
}
