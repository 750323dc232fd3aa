import { expect, test } from '@jest/globals';
import { createPeople } from '../../src/tables/people.js';
import { originsOf } from '../../src/tables/row-facts.js';

const ada = { type: 'user', id: 'ada', name: 'Ada' } as const;

test('a person has one place, with the latest name; unknown authors of an import differ by name', () => {
  const people = createPeople([ada]);
  const unknown = (name: string) => ({ type: 'import', id: 'i', name }) as const;
  const places = [{ ...ada, name: 'Ada L.' }, unknown('X'), unknown('Y'), unknown('X'), ada].map(people.placeOf);
  expect(places).toEqual([0, 1, 2, 1, 0]);
  expect(people.list.map(({ name }) => name)).toEqual(['Ada', 'X', 'Y']);
});

test('the present list of people is not changed', () => {
  const present = [ada];
  createPeople(present).placeOf({ ...ada, name: 'Ada L.' });
  expect(present).toEqual([ada]);
});

test('many people are found without a search through all of them', () => {
  let reads = 0;
  const counted = (at: number) => ({
    type: 'user' as const,
    get id() {
      reads += 1;
      return `p${at}`;
    },
    name: 'P',
  });
  const facts = Array.from({ length: 1000 }, (_, at) => ({ createdBy: { type: 'user', id: `q${at}`, name: 'Q' } }));
  const { people } = originsOf(
    Array.from({ length: 1000 }, (_, at) => counted(at)),
    ada,
    facts as never,
    0,
  );
  expect(people).toHaveLength(2000);
  expect(reads).toBeLessThan(5000);
});
