import type { Actor } from '@commonplace/kit/auth';

/**
 * Returns a list of people that includes the actor, with the actor's index in it. The latest name replaces an earlier
 * one.
 */
export function withPerson(people: readonly Actor[], actor: Actor): { people: readonly Actor[]; place: number } {
  const { type, id, name } = actor;
  // An import's unknown authors differ by name only.
  const isOne = (one: Actor): boolean => one.type === type && one.id === id && (type !== 'import' || one.name === name);
  const place = people.findIndex(isOne);
  if (place < 0) return { people: [...people, { type, id, name }], place: people.length };
  if (people[place]?.name === name) return { people, place };
  return { people: people.map((one, i) => (i === place ? { type, id, name } : one)), place };
}
