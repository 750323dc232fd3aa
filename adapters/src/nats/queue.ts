import type { DomainEvent } from '@commonplace/kit/events';
import type { JsMsg } from '@nats-io/jetstream';

/** An event that was delivered and is not yet acknowledged. */
export interface Item {
  readonly seq: number;
  readonly event: DomainEvent;
  /** The latest delivery, which is the one to acknowledge. */
  message: JsMsg;
  /** Number of failed attempts; undefined for a redelivered event until the number has been read. */
  attempts: number | undefined;
  /** Number of failures that do not count as attempts. */
  waits: number;
  /** The event failed in a batch and is now tried alone, so that only the event that causes the failure is parked. */
  alone: boolean;
  /** Time of the next attempt, by `performance.now`. */
  due: number;
}

/**
 * Events that wait for a handler, in stream order. An event that waits for a retry blocks later events of its subject,
 * and no others.
 */
export interface Queue {
  readonly size: number;
  /** Adds a delivery. A redelivery of the same event only replaces the message. */
  add(message: JsMsg, event: DomainEvent): void;
  /** Returns the events to handle next, without removing them: one event, or several that were never tried. */
  next(batch: number, now: number): Item[];
  /** Returns the time at which the next waiting event may be tried. */
  due(now: number): number;
  remove(items: readonly Item[]): void;
  all(): Item[];
  clear(): void;
}

export function createQueue(): Queue {
  const items = new Map<number, Item>();
  /** Sequence numbers in ascending order. Deliveries mostly arrive in that order. */
  let order: number[] = [];

  const insert = (seq: number): void => {
    const last = order.at(-1);
    order.push(seq);
    if (last !== undefined && last > seq) order.sort((a, b) => a - b);
  };
  const inOrder = (): Item[] => order.flatMap((seq) => items.get(seq) ?? []);
  return {
    get size() {
      return items.size;
    },
    add: (message, event) => {
      const { streamSequence: seq, deliveryCount } = message.info;
      const known = items.get(seq);
      if (known !== undefined) {
        known.message = message;
        return;
      }
      const attempts = deliveryCount > 1 ? undefined : 0;
      items.set(seq, { seq, event, message, attempts, waits: 0, alone: deliveryCount > 1, due: 0 });
      insert(seq);
    },
    next: (batch, now) => {
      const held = new Set<string>();
      const chosen: Item[] = [];
      for (const item of inOrder()) {
        const { subject } = item.event;
        if (held.has(subject)) continue;
        if (item.due > now || (item.alone && chosen.length > 0)) held.add(subject);
        else chosen.push(item);
        if (item.alone && chosen.length === 1 && chosen[0] === item) return chosen;
        if (chosen.length === batch) break;
      }
      return chosen;
    },
    due: (now) => Math.min(...[...items.values()].map((item) => item.due).filter((due) => due > now)),
    remove: (done) => {
      for (const { seq } of done) items.delete(seq);
      order = order.filter((seq) => items.has(seq));
    },
    all: inOrder,
    clear: () => {
      items.clear();
      order = [];
    },
  };
}
