import type { Actor } from '@commonplace/kit/auth';

/** A list of people with somebody in it, and their place. Names are those of the last time. */
export function withPerson(people: readonly Actor[], actor: Actor): { people: readonly Actor[]; place: number } {
  const place = people.findIndex(({ type, id }) => type === actor.type && id === actor.id);
  const { type, id, name } = actor;
  if (place < 0) return { people: [...people, { type, id, name }], place: people.length };
  if (people[place]?.name === name) return { people, place };
  return { people: people.map((one, i) => (i === place ? { type, id, name } : one)), place };
}
