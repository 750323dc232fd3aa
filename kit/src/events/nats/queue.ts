import type { JsMsg } from '@nats-io/jetstream';
import type { DomainEvent } from '../port.js';

/** An event that was delivered and is not done. */
export interface Item {
  readonly seq: number;
  readonly event: DomainEvent;
  /** The last delivery, which is the one to acknowledge. */
  message: JsMsg;
  /** Tries that failed; undefined until it is known of an event that was delivered before. */
  attempts: number | undefined;
  /** Failed with others: is tried alone, so that only what fails by itself is parked. */
  alone: boolean;
  /** When it may be tried, by `performance.now`. */
  due: number;
}

/**
 * What waits for a handler, in the order of the stream. An event that waits for its next try holds
 * up those of its subject, and no others.
 */
export interface Queue {
  readonly size: number;
  /** Adds a delivery; a second one of the same event only takes the first's place. */
  add(message: JsMsg, event: DomainEvent): void;
  /** What to handle next, and removes nothing: one event, or several that were never tried. */
  next(batch: number, now: number): Item[];
  /** When the next of those that wait may be tried. */
  due(now: number): number;
  remove(items: readonly Item[]): void;
  all(): Item[];
  clear(): void;
}

export function createQueue(): Queue {
  const items = new Map<number, Item>();
  /** Sequences in order; deliveries mostly come so. */
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
      items.set(seq, { seq, event, message, attempts, alone: deliveryCount > 1, due: 0 });
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
