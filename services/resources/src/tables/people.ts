import type { Actor } from '@commonplace/kit/auth';

// An import's unknown authors differ by name only.
const keyOf = ({ type, id, name }: Actor): string => (type === 'import' ? `${type} ${id} ${name}` : `${type} ${id}`);

/** The people of a table, to whom its rows refer by index. */
export interface People {
  /** The list, with everyone whose index was asked for. */
  readonly list: readonly Actor[];
  /** Returns the index of an actor, who is added if they are not in the list. The latest name replaces an earlier one. */
  placeOf(actor: Actor): number;
}

/** Creates a list that begins with the people of a table. Its time is in proportion to the number of people. */
export function createPeople(present: readonly Actor[]): People {
  const list = [...present];
  const places = new Map<string, number>();
  for (const [place, one] of present.entries()) if (!places.has(keyOf(one))) places.set(keyOf(one), place);
  return {
    list,
    placeOf(actor) {
      const { type, id, name } = actor;
      const key = keyOf(actor);
      const place = places.get(key) ?? list.length;
      places.set(key, place);
      if (list[place]?.name !== name) list[place] = { type, id, name };
      return place;
    },
  };
}
