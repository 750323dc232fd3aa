import { expect, test } from '@jest/globals';
import { type FoundSource, Sources } from '../src/engine/sources.js';

const found = (name: string): FoundSource => ({
  ...{
    resourceId: name,
    name,
    type: 'document',
    contentVersion: 1,
    snippet: name,
    ranges: [],
    text: name,
    isVerbatim: true,
  },
});

test('sources keep their numbers, in whatever order the calls that found them are stored', () => {
  const before = new Sources();
  const second = before.add([found('a'), found('b')]);
  const first = before.add([found('c')]);
  const after = new Sources();
  after.restore(first);
  after.restore(second);
  expect([1, 2, 3].map((number) => after.get(number)?.name)).toEqual(['a', 'b', 'c']);
  expect(after.add([found('d')])[0]?.number).toBe(4);
});
