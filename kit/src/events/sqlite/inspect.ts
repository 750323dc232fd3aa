import type { Connection } from '../../store/sqlite/binding.js';
import { countParked, countWaiting, firstWaiting, readPlace } from './log.js';

export interface ConsumerFacts {
  readonly name: string;
  /** Events that it has not done. */
  readonly waiting: number;
  /** When the first of these was written, in milliseconds since 1970. */
  readonly oldestAt: number | undefined;
  /** Events set aside after their last try. */
  readonly parked: number;
}

export interface EventFacts {
  readonly events: number;
  /** When the newest was written, in milliseconds since 1970. */
  readonly newestAt: number | undefined;
  readonly consumers: readonly ConsumerFacts[];
}

/** How far each consumer of a log of events is, read beside the system that writes it. */
export function inspectEvents(reader: Connection): EventFacts {
  const [events, newestAt] = reader.get('SELECT count(*), max(at) FROM events') ?? [];
  const names = reader.all('SELECT name FROM consumers ORDER BY name').map(([name]) => name as string);
  return {
    events: Number(events ?? 0),
    newestAt: (newestAt as number | null) ?? undefined,
    consumers: names.map((name) => consumerFacts(reader, name)),
  };
}

function consumerFacts(reader: Connection, name: string): ConsumerFacts {
  const place = readPlace(reader, name) ?? { types: [], seq: 0 };
  const first = firstWaiting(reader, place);
  const at = first === undefined ? undefined : reader.get('SELECT at FROM events WHERE seq = ?', [first])?.[0];
  return {
    name,
    waiting: countWaiting(reader, name, place),
    oldestAt: at as number | undefined,
    parked: countParked(reader, name),
  };
}
