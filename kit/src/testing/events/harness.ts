import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainEvent, EventBus, SubscribeOptions, Subscription } from '../../events/port.js';
import { eventually } from '../suite/eventually.js';
import { createEvent } from './fixtures.js';

/** An adapter with events of its own, for the duration of one suite. */
export interface EventsHarness {
  readonly bus: EventBus;
  /** Opens the same events as another process does; returns the same bus if there can be only one. */
  another(): Promise<EventBus>;
  close(): Promise<void>;
  /** Closes the adapter, and opens the same events again. */
  reopen?(): Promise<EventsHarness>;
}

/** A subscription that records what its handler received. */
export interface Recorder extends Subscription {
  /** Ids of handled events, in order. */
  readonly done: string[];
  /** All calls of the handler, in order. */
  readonly calls: (readonly DomainEvent[])[];
}

/** Names and helpers for one test, with names that no other test uses. */
export interface Scene {
  readonly bus: EventBus;
  readonly consumer: string;
  /** Prefix of its event types: `commonplace.<scene>`. */
  readonly root: string;
  readonly all: readonly string[];
  event(subject: string, data?: Record<string, unknown>, verb?: string): DomainEvent;
  /** Creates events of a subject, numbered from 0. */
  row(subject: string, count: number): DomainEvent[];
  record(
    options?: Partial<SubscribeOptions>,
    handle?: (events: readonly DomainEvent[]) => void | Promise<void>,
    bus?: EventBus,
  ): Promise<Recorder>;
}

export interface Bench {
  readonly harness: EventsHarness;
  /** Runs a test with names of its own, and closes its subscriptions. */
  scene(play: (scene: Scene) => Promise<void>): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export function createBench(first: EventsHarness): Bench {
  let harness = first;
  let scenes = 0;
  const run = Math.trunc(performance.timeOrigin).toString(36);
  return {
    get harness() {
      return harness;
    },
    scene: async (play) => {
      const open: Subscription[] = [];
      try {
        await play(createScene(() => harness.bus, `s${run}x${++scenes}`, open));
      } finally {
        await Promise.all(open.map((subscription) => subscription.close()));
      }
    },
    reopen: async () => {
      if (harness.reopen === undefined) throw new Error('this harness can not be reopened');
      harness = await harness.reopen();
    },
    close: () => harness.close(),
  };
}

function createScene(bus: () => EventBus, name: string, open: Subscription[]): Scene {
  const root = `commonplace.${name}`;
  const event: Scene['event'] = (subject, data = {}, verb = 'changed') =>
    createEvent(subject, data, `${root}.thing.${verb}`);
  return {
    get bus() {
      return bus();
    },
    consumer: `consumer-${name}`,
    root,
    all: [`${root}.>`],
    event,
    row: (subject, count) => Array.from({ length: count }, (_, n) => event(subject, { n })),
    record: async (options = {}, handle = () => {}, on = bus()) => {
      const recorder = { done: [] as string[], calls: [] as (readonly DomainEvent[])[] };
      const whole = { consumer: `consumer-${name}`, types: [`${root}.>`], retryMs: 20, ...options };
      const subscription = await on.subscribe(whole, async (events) => {
        recorder.calls.push(events);
        await handle(events);
        recorder.done.push(...events.map(({ id }) => id));
      });
      open.push(subscription);
      return { ...recorder, close: () => subscription.close() };
    },
  };
}

/** Returns the ids of events, in order. */
export const idsOf = (events: readonly DomainEvent[]): string[] => events.map(({ id }) => id);

/** Waits until a consumer has handled all its events. */
export function settled(bus: EventBus, consumer: string): Promise<void> {
  return eventually(async () => {
    const lag = await bus.lag(consumer);
    if (lag !== 0) throw new Error(`${lag} events still wait for ${consumer}`);
  });
}

/** Waits for a random time of up to `maxMs` milliseconds, so that other work continues. */
export const dawdle = (maxMs: number): Promise<void> => sleep(Math.random() * maxMs);
