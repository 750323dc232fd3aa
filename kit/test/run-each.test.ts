import { expect, test } from '@jest/globals';
import { runEach } from '../src/jobs/index.js';

const failing =
  (done: string[], ...bad: string[]) =>
  async (item: string) => {
    if (bad.includes(item)) throw new Error(`no ${item}`);
    done.push(item);
  };

test('a failure does not prevent later items, and is reported at the end', async () => {
  const done: string[] = [];
  await expect(runEach(['a', 'b', 'c'], failing(done, 'a'))).rejects.toThrow('no a');
  expect(done).toEqual(['b', 'c']);
  const failed = runEach(['a', 'b', 'c'], failing(done, 'a', 'b'));
  await expect(failed).rejects.toThrow('2 pieces of work have failed: Error: no a');
  await expect(failed).rejects.toMatchObject({ errors: [{ message: 'no a' }, { message: 'no b' }] });
  expect(done).toEqual(['b', 'c', 'c']);
});

test('items may arrive one after another', async () => {
  const done: string[] = [];
  async function* items() {
    yield 'a';
    yield 'b';
  }
  await runEach(items(), failing(done));
  expect(done).toEqual(['a', 'b']);
});
