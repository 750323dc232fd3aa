import type { Actor } from '@commonplace/kit/auth';
import type { RowFacts } from '../content/kind.js';
import { createPeople } from './people.js';
import type { Row } from './rows.js';

/** Who created and changed a row, and when, in the stored form. */
export type RowOrigin = Omit<Row, 'id' | 'cells'>;

/** The authors that a write involves. */
interface Origins {
  /** The table's list of people, extended by all people whom the rows name. */
  readonly people: readonly Actor[];
  /** The writer, as an index in `people`; unused if every row names its own author. */
  readonly by: number;
  /** Returns the metadata of a row by its index in the write; undefined if rows bring none. */
  readonly originOf: ((index: number) => RowOrigin) | undefined;
}

/**
 * Collects the authors and times of a write's rows. Missing ones default to the writer and to `now` (epoch
 * milliseconds).
 */
export function originsOf(
  present: readonly Actor[],
  actor: Actor,
  facts: readonly RowFacts[] | undefined,
  now: number,
): Origins {
  const people = createPeople(present);
  if (facts === undefined) return { by: people.placeOf(actor), people: people.list, originOf: undefined };
  const origins = facts.map(({ createdAt = now, createdBy = actor, updatedAt = createdAt, updatedBy = createdBy }) => {
    return { createdAt, createdBy: people.placeOf(createdBy), updatedAt, updatedBy: people.placeOf(updatedBy) };
  });
  return {
    people: people.list,
    by: 0,
    originOf: (index) => origins[index] ?? { createdAt: now, createdBy: 0, updatedAt: now, updatedBy: 0 },
  };
}
