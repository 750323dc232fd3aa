import { afterAll, expect, test } from '@jest/globals';
import { openSkillFiles } from '../src/skill-files/index.js';

const files = openSkillFiles(1000);
afterAll(() => files.close());

const file = (front: string) => `---\n${front}\n---\nText`;
/** A map of thousands of commas without a name takes a second to be refused. */
const COMMAS = file(`name: {${','.repeat(16_300)}}`);

/** Reads texts, and again if the thread got no processor on a busy machine. */
async function read(texts: readonly string[]): ReturnType<typeof files.read> {
  try {
    return await files.read('org', texts);
  } catch (error) {
    if ((error as { code?: string }).code === 'UNAVAILABLE') return read(texts);
    throw error;
  }
}

test('files are read in order; those that are no SKILL.md say why', async () => {
  const texts = [file('name: a'), 'Text', file('name: b')];
  expect(await read(texts)).toEqual([
    { file: expect.objectContaining({ name: 'a', content: 'Text' }) },
    { fault: 'must begin with YAML between two lines of three hyphens.' },
    { file: expect.objectContaining({ name: 'b' }) },
  ]);
});

test('files made to be expensive leave the event loop to others, and are refused', async () => {
  await read([file('name: warm')]);
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  await expect(read(Array.from({ length: 20 }, () => COMMAS))).rejects.toMatchObject({
    faults: [{ param: 'skills', code: 'invalid_value', message: expect.stringContaining('takes too long') }],
  });
  clearImmediate(timer);
  expect(turns).toBeGreaterThan(100);
  expect(await read([file('name: after')])).toMatchObject([{ file: { name: 'after' } }]);
}, 120_000);
