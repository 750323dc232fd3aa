import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from '@jest/globals';
import {
  createBreathe,
  encodeInSlices,
  isSentInTurns,
  parseJsonInSlices,
  piecesOf,
  sendInTurns,
} from '../src/slices/index.js';

const never = async () => {};
const parse = (value: unknown) => parseJsonInSlices(Buffer.from(JSON.stringify(value)), never);

describe('JSON in slices', () => {
  const text = 'a "quoted" \\ text, with [brackets] and {braces} and ü\u2028'.repeat(20);
  const rows = Array.from({ length: 2000 }, (_, i) => ({
    id: `r${i}`,
    cells: { a: text, b: [i, [null]], 'c"\\': {} },
  }));

  test.each([
    ['a short value', { a: 1 }],
    ['a list', rows],
    ['a list in an object', { columns: [{ name: 'a' }], rows, typecast: true, empty: [], nested: { rows: [1] } }],
    ['lists within lists', rows.map((row) => [[row]])],
    ['a long text', 'x'.repeat(200_000)],
    ['an object without a list', { a: text.repeat(100), b: null, c: 'x'.repeat(200_000) }],
    ['one long element', [text.repeat(200)]],
    ['numbers', Array.from({ length: 50_000 }, (_, i) => i)],
    ['an object of many names', { map: Object.fromEntries(rows.map((row) => [row.id, row.cells])), last: true }],
    ['a large element between small ones', [1, { children: rows }, 2, [rows], 'x']],
  ])('%s is parsed as JSON.parse does', async (_, value) => {
    expect(await parse(value)).toEqual(value);
  });

  test('a key __proto__ stays an ordinary key', async () => {
    const json = `{"__proto__":[1],"long":"${'x'.repeat(100_000)}"}`;
    const read = (await parseJsonInSlices(Buffer.from(json), never)) as object;
    expect(Object.keys(read)).toEqual(['__proto__', 'long']);
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });

  test('white space makes no difference', async () => {
    expect(await parseJsonInSlices(Buffer.from(JSON.stringify({ rows }, null, 2)), never)).toEqual({ rows });
  });

  test.each([
    ['list', rows],
    ['list within an element', [{ children: rows }]],
    ['object', { map: Object.fromEntries(rows.map((row) => [row.id, row])) }],
  ])('a long %s is parsed with pauses', async (_, value) => {
    let pauses = 0;
    const bytes = Buffer.from(JSON.stringify(value));
    await parseJsonInSlices(bytes, async () => void pauses++);
    expect(pauses).toBeGreaterThan(bytes.length / (128 * 1024));
  });
});

test('one of several computations continues in each turn of the event loop', async () => {
  const turns: string[] = [];
  const compute = async (name: string) => {
    const breathe = createBreathe();
    for (let slice = 0; slice < 3; slice++) {
      const until = performance.now() + 10;
      while (performance.now() < until);
      turns.push(name);
      await breathe();
    }
  };
  let others = 0;
  const other = () => {
    others++;
    if (turns.length < 6) setImmediate(other);
  };
  setImmediate(other);
  await Promise.all([compute('a'), compute('b')]);
  expect(turns).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  expect(others).toBeGreaterThanOrEqual(3);
});

test('pieces of a text add up to the text, and no surrogate pair is split', () => {
  const text = `${'a'.repeat(128 * 1024 - 1)}${'😀'.repeat(200_000)}b`;
  const pieces = [...piecesOf(text)];
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join('')).toBe(text);
  for (const piece of pieces) expect(piece).not.toMatch(/[\ud800-\udfff]/u);
  expect([...piecesOf('')]).toEqual([]);
});

test('a text encoded in slices equals the text encoded at once', async () => {
  const cut = 128 * 1024;
  const texts = ['', 'a', `${'a'.repeat(cut - 1)}😀ä`, `${'ä'.repeat(cut - 1)}\ud800a\udc00`, '😀'.repeat(cut)];
  for (const text of texts) {
    expect((await encodeInSlices(text, async () => {})).equals(Buffer.from(text))).toBe(true);
  }
});

describe('bodies sent in turns', () => {
  const SIZE = 3_000_000;
  const body = randomBytes(SIZE);

  test('a fast client receives all bytes, but not all in one turn', async () => {
    let turn = 0;
    let counting = true;
    const count = () => {
      turn++;
      if (counting) setImmediate(count);
    };
    count();
    const received: Buffer[] = [];
    const writes = new Map<number, number>();
    const client = new Writable({
      highWaterMark: 2 * SIZE,
      write(piece: Buffer, _, done) {
        received.push(piece);
        writes.set(turn, (writes.get(turn) ?? 0) + 1);
        const until = performance.now() + 0.6;
        while (performance.now() < until);
        done();
      },
    });
    await pipeline(sendInTurns([body.subarray(0, 1_000_001), body.subarray(1_000_001)]), client);
    counting = false;
    expect(Buffer.concat(received).equals(body)).toBe(true);
    expect(Math.max(...writes.values())).toBeLessThan(5);
  });

  test('of several bodies one is written in a turn, from its first piece on', async () => {
    const BODIES = 20;
    const turns: number[] = [];
    let turn = 0;
    const count = () => {
      turn++;
      if (turns.length < BODIES) setImmediate(count);
    };
    setImmediate(count);
    const client = () =>
      new Writable({
        write: (_, __, done) => {
          turns.push(turn);
          done();
        },
      });
    await Promise.all(Array.from({ length: BODIES }, () => pipeline(sendInTurns([Buffer.alloc(100)]), client())));
    expect(new Set(turns).size).toBe(BODIES);
  });

  test('only large bodies are', () => {
    expect(isSentInTurns(1000)).toBe(false);
    expect(isSentInTurns(SIZE)).toBe(true);
  });
});

test('JSON that is deeply nested is parsed, with pauses', async () => {
  const DEPTH = 20_000;
  let turns = 0;
  const counter = setInterval(() => turns++, 1);
  const text = `${'[{"a":'.repeat(DEPTH)}1${'}]'.repeat(DEPTH)}`;
  let value = await parseJsonInSlices(Buffer.from(text), createBreathe());
  clearInterval(counter);
  let depth = 0;
  for (; Array.isArray(value); depth++) value = (value as { a: unknown }[])[0]?.a;
  expect([depth, value]).toEqual([DEPTH, 1]);
  expect(turns).toBeGreaterThan(10);
});
