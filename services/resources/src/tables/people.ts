import type { Actor } from '@commonplace/kit/auth';

/** A list of people with somebody in it, and their place. Names are those of the last time. */
export function withPerson(people: readonly Actor[], actor: Actor): { people: readonly Actor[]; place: number } {
  const { type, id, name } = actor;
  // Whom an import does not know is told apart by the name alone.
  const isOne = (one: Actor): boolean => one.type === type && one.id === id && (type !== 'import' || one.name === name);
  const place = people.findIndex(isOne);
  if (place < 0) return { people: [...people, { type, id, name }], place: people.length };
  if (people[place]?.name === name) return { people, place };
  return { people: people.map((one, i) => (i === place ? { type, id, name } : one)), place };
}
