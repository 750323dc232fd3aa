import type { Actor } from '@commonplace/kit/auth';
import type { RowFacts } from '../content/kind.js';
import { withPerson } from './people.js';
import type { Row } from './rows.js';

/** Who made and changed a row, and when, as it is stored. */
export type RowOrigin = Omit<Row, 'id' | 'cells'>;

/** Who writes, and what the rows of a write say of themselves. */
export interface Origins {
  /** The table's list of people with all whom the rows name. */
  readonly people: readonly Actor[];
  /** Who writes, as a place in it. Nobody's where every row names its own. */
  readonly by: number;
  /** What a row says by its place in the write; undefined where rows say nothing. */
  readonly originOf: ((index: number) => RowOrigin) | undefined;
}

/** Reads who made the rows of a write, and when; what they do not say is the writer's, of this moment (milliseconds). */
export function originsOf(
  present: readonly Actor[],
  actor: Actor,
  facts: readonly RowFacts[] | undefined,
  now: number,
): Origins {
  let people = present;
  const places = new Map<Actor, number>();
  const placeOf = (one: Actor): number => {
    const known = places.get(one);
    if (known !== undefined) return known;
    const found = withPerson(people, one);
    people = found.people;
    places.set(one, found.place);
    return found.place;
  };
  if (facts === undefined) return { by: placeOf(actor), people, originOf: undefined };
  const origins = facts.map(({ createdAt = now, createdBy = actor, updatedAt = createdAt, updatedBy = createdBy }) => {
    return { createdAt, createdBy: placeOf(createdBy), updatedAt, updatedBy: placeOf(updatedBy) };
  });
  return {
    people,
    by: 0,
    originOf: (index) => origins[index] ?? { createdAt: now, createdBy: 0, updatedAt: now, updatedBy: 0 },
  };
}
