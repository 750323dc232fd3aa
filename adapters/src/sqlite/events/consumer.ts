import type { DomainEvent, SubscribeOptions, Subscription } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import { countFailure, retryDelay } from '../../events/attempts.js';
import { observeRedelivery } from '../../events/telemetry.js';
import type { Connection } from '../file/binding.js';
import type { WriteQueue } from '../file/write-queue.js';
import {
  forgetParkedStep,
  type Item,
  lastSeq,
  type Place,
  parkStep,
  placeStep,
  readDue,
  readLog,
  readPlace,
  registerStep,
  windowsOf,
} from './log.js';
import { createPause } from './pause.js';

export type Handler = (events: readonly DomainEvent[]) => Promise<void>;

/** All subscriptions with one durable name: they share one position in the log and take turns. */
export interface Consumer {
  readonly types: readonly string[];
  /** Position up to which all events are done; undefined until it has been read. */
  readonly place: Place | undefined;
  join(options: SubscribeOptions, handler: Handler): Promise<Subscription>;
  /** Checks for events now. */
  wake(): void;
  /**
   * Resolves once the last subscription has closed; no subscription can join after that. Undefined before that begins.
   */
  readonly ended: Promise<void> | undefined;
}

export interface ConsumerContext {
  readonly reader: Connection;
  readonly queue: WriteQueue;
  readonly log: Log;
  /** Is called when the last subscription has closed. */
  onEnd(): void;
}

interface Member {
  readonly options: SubscribeOptions;
  readonly handler: Handler;
  running: Promise<unknown>;
}

const MAX_ATTEMPTS = 8;
const RETRY_MS = 200;
const MAX_RETRY_MS = 60_000;
/** Number of positions without an event of a consumer after which its own is saved. */
const SAVED_EVERY = 5_000;
/** Minimum number of events that are read at a time, even for a handler that takes them one by one. */
const READ_AHEAD = 64;
/** Milliseconds between two reads at the end of the log: events committed meanwhile are read together. */
const GATHER_MS = 20;
/** Milliseconds before a retry after an error of the writer or the file. */
const TROUBLE_MS = 1_000;

export function createConsumer(name: string, context: ConsumerContext): Consumer {
  const { reader, queue, log } = context;
  const members: Member[] = [];
  const pause = createPause();
  const redelivered = observeRedelivery(name);
  let types: readonly string[] = [];
  let seq = 0;
  let savedSeq = 0;
  /** Events that were read and are not done, in order. */
  let inWork: Item[] = [];
  /** Whether events are handled one by one, which starts after a failed batch. */
  let oneByOne = false;
  /** Time at which the log was last read to its end. */
  let readAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let ended: Promise<void> | undefined;

  async function join(options: SubscribeOptions, handler: Handler): Promise<Subscription> {
    const member: Member = { options, handler, running: Promise.resolve() };
    types = [...new Set([...types, ...options.types])];
    members.push(member);
    try {
      await queue.commit([registerStep(name, types, options.from ?? 'start')]);
    } catch (error) {
      await leave(member);
      throw error;
    }
    if (running === undefined && members.length > 0) {
      seq = savedSeq = readPlace(reader, name)?.seq ?? 0;
      running = run();
    }
    pause.wake();
    return { close: () => leave(member) };
  }

  async function leave(member: Member): Promise<void> {
    if (!members.includes(member)) return;
    members.splice(members.indexOf(member), 1);
    pause.interrupt();
    if (members.length === 0) {
      ended = finish();
      await ended;
    }
    await member.running;
  }

  async function finish(): Promise<void> {
    await running;
    // If the position cannot be saved now, events are delivered a second time.
    await queue.flush().catch(() => {});
    context.onEnd();
  }

  async function run(): Promise<void> {
    while (members.length > 0) {
      try {
        if (inWork.length === 0) await gatherAndRead();
        if (inWork.length === 0) await pause.idle();
        else await deliver();
      } catch (error) {
        log.error('events.consumer_troubled', { consumer: name, error });
        await rest(TROUBLE_MS);
      }
    }
  }

  /** The last subscription may have closed since; it could not end a sleep that starts after that. */
  async function rest(ms: number): Promise<void> {
    if (members.length > 0) await pause.sleep(ms);
  }

  /**
   * Reads new events at most once every `GATHER_MS`. Otherwise many small commits per second would cause as many reads
   * of an event or two.
   */
  async function gatherAndRead(): Promise<void> {
    const early = readAt + GATHER_MS - performance.now();
    if (early > 0) await rest(early);
    if (members.length > 0) await read();
  }

  /** Fills `inWork` with the next events; leaves it empty if there are none. */
  async function read(): Promise<void> {
    inWork = readDue(reader, name);
    const most = Math.max(READ_AHEAD, members[0]?.options.batch ?? 1);
    const due = inWork.length > 0;
    let isAtEnd = true;
    for (let last = lastSeq(reader); inWork.length === 0 && seq < last; last = lastSeq(reader)) {
      for await (const { after, to } of windowsOf(seq, last)) {
        if (members.length === 0) return;
        inWork = readLog(reader, types, after, to, most);
        isAtEnd = to === last;
        if (inWork.length > 0) break;
        moveTo(to);
      }
    }
    oneByOne = false;
    if (!due && isAtEnd && inWork.length < most) readAt = performance.now();
  }

  /** Delivers the next events to the subscription whose turn it is. */
  async function deliver(): Promise<void> {
    const member = members.shift();
    if (member === undefined) return;
    members.push(member);
    const { batch = 1, maxAttempts = MAX_ATTEMPTS, retryMs = RETRY_MS } = member.options;
    const items = inWork.slice(0, oneByOne ? 1 : batch);
    const [first] = items;
    if (first !== undefined && (first.due || first.attempts + first.waits > 0)) redelivered(items.length);
    const failure = await attempt(member, items);
    if (failure === undefined || first === undefined) return done(items);
    for (const item of items) countFailure(item, failure.error);
    const reason = failure.error instanceof Error ? failure.error.message : String(failure.error);
    const facts = { consumer: name, eventId: first.event.id, type: first.event.type, attempts: first.attempts };
    if (items.length === 1 && first.attempts >= maxAttempts) {
      log.error('events.parked', { ...facts, error: failure.error });
      return park(first, reason);
    }
    log.warn('events.delivery_failed', { ...facts, events: items.length, error: failure.error });
    oneByOne = true;
    await rest(retryDelay(first, retryMs, MAX_RETRY_MS));
  }

  async function attempt(member: Member, items: readonly Item[]): Promise<{ error: unknown } | undefined> {
    const call = (async () => member.handler(items.map(({ event }) => event)))();
    member.running = call.catch(() => {});
    try {
      await call;
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  async function done(items: readonly Item[]): Promise<void> {
    const again = items.filter((item) => item.due);
    if (again.length > 0) await queue.commit(again.map((item) => forgetParkedStep(name, item.seq)));
    settle(items, true);
  }

  async function park(item: Item, error: string): Promise<void> {
    const place = item.due ? [] : [placeStep(name, item.seq)];
    await queue.commit([parkStep(name, item, error.replaceAll('\0', '')), ...place]);
    settle([item], false);
  }

  function settle(items: readonly Item[], save: boolean): void {
    inWork = inWork.slice(items.length);
    const last = items.findLast((item) => !item.due);
    if (last === undefined) return;
    moveTo(last.seq);
    if (save) saveSeq();
  }

  function moveTo(place: number): void {
    seq = place;
    if (seq - savedSeq >= SAVED_EVERY) saveSeq();
  }

  /**
   * Saves the position with the next commit. A position lost in a crash only causes a second delivery, so it can wait.
   */
  function saveSeq(): void {
    savedSeq = seq;
    queue.defer(`place:${name}`, placeStep(name, seq));
  }

  return {
    get types() {
      return types;
    },
    get place() {
      return running === undefined ? undefined : { types, seq };
    },
    get ended() {
      return ended;
    },
    join,
    wake: pause.wake,
  };
}
