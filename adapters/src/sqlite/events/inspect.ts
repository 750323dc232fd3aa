import type { Connection } from '../file/binding.js';
import { countParked, countWaiting, firstWaiting, readPlace } from './log.js';

export interface ConsumerFacts {
  readonly name: string;
  /** Number of events that the consumer has not handled yet. */
  readonly waiting: number;
  /** Time at which the oldest of these was written, in milliseconds since 1970. */
  readonly oldestAt: number | undefined;
  /** Number of events that were parked after their last attempt. */
  readonly parked: number;
}

export interface EventFacts {
  readonly events: number;
  /** Time at which the newest event was written, in milliseconds since 1970. */
  readonly newestAt: number | undefined;
  readonly consumers: readonly ConsumerFacts[];
}

/** Returns the position of each consumer of an event log, read from outside of the running system. */
export async function inspectEvents(reader: Connection): Promise<EventFacts> {
  const [events, newestAt] = reader.get('SELECT count(*), max(at) FROM events') ?? [];
  const names = reader.all('SELECT name FROM consumers ORDER BY name').map(([name]) => name as string);
  return {
    events: Number(events ?? 0),
    newestAt: (newestAt as number | null) ?? undefined,
    consumers: await Promise.all(names.map((name) => consumerFacts(reader, name))),
  };
}

async function consumerFacts(reader: Connection, name: string): Promise<ConsumerFacts> {
  const place = readPlace(reader, name) ?? { types: [], seq: 0 };
  const first = await firstWaiting(reader, place);
  const at = first === undefined ? undefined : reader.get('SELECT at FROM events WHERE seq = ?', [first])?.[0];
  return {
    name,
    waiting: await countWaiting(reader, name, place),
    oldestAt: at as number | undefined,
    parked: countParked(reader, name),
  };
}
