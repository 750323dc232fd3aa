import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Bodies, createBodies } from '../src/comments/bodies.js';
import { type Deriver, MAX_BYTES_AT_ONCE, openDeriver } from '../src/documents/kind/deriver.js';

/** The longest body, and the most expensive one: parsing it takes 0.3 s. */
const BRACKETS = '!['.repeat(5000);
const SETTINGS = { documentThreads: 1, documentSeconds: 60, documentsWaiting: 10 };

let deriver: Deriver;
let bodies: Bodies;
beforeAll(() => {
  deriver = openDeriver(SETTINGS);
  bodies = createBodies(deriver);
});
afterAll(() => deriver.close());

/** Returns whether the event loop turned while `work` was under way. */
async function lets<T>(work: () => Promise<T>): Promise<{ readonly turned: boolean; readonly result: T }> {
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  const result = await work();
  return { turned, result };
}

const id = '0192a3b4-0000-7000-8000-000000000001';
const hidden = new Set([id]);
const naming = `[Secret](resource:${id})`;

describe('the longest bodies keep nobody waiting', () => {
  test.each<[string, (body: string) => Promise<unknown>]>([
    ['as HTML', (body) => bodies.html('o', body)],
    ['as plain text', (body) => bodies.plain('o', body)],
    ['for the people in them', (body) => bodies.mentions('o', body)],
    ['with placeholders', (body) => bodies.shown('o', `${naming} ${body.slice(100)}`, hidden)],
    ['without placeholders', (body) => bodies.disclosed('o', `${naming} ${body.slice(100)}`, 'before', hidden)],
  ])('%s', async (_, work) => {
    expect((await lets(() => work(BRACKETS))).turned).toBe(true);
  });

  test('and short ones wait for no thread', async () => {
    const body = '**a** '.repeat(MAX_BYTES_AT_ONCE / 6);
    expect((await lets(() => bodies.html('o', body))).turned).toBe(false);
  });
});

test('HTML is the same on both ways, sanitised, and known afterwards', async () => {
  const text = '**bold**\n\n<script>alert(1)</script>\n\n';
  const long = await bodies.html('o', text.repeat(40));
  expect(long).toBe((await bodies.html('o', text)).repeat(40));
  expect(long).not.toContain('<script');
  const again = await lets(() => bodies.html('o', text.repeat(40)));
  expect(again).toEqual({ turned: false, result: long });
});

test('names of hidden resources become placeholders and come back', async () => {
  const before = `${naming} and ${'words '.repeat(200)}`;
  const shown = await bodies.shown('o', before, hidden);
  expect(shown).not.toContain('Secret');
  expect(await bodies.disclosed('o', shown, before, hidden)).toBe(before);
  expect(await bodies.disclosed('o', `${shown} more`, before, hidden)).toMatch(/Secret.* more$/s);
  expect(await bodies.shown('o', before, new Set())).toBe(before);
});
