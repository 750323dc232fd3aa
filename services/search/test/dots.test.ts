import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import wabt from 'wabt';
import {
  type Comparer,
  createComparer,
  createScalarComparer,
  createSimdComparer,
  DOTS,
} from '../src/index/sqlite/dots.js';

/** Creates a generator of numbers from -1 to 1 that returns the same ones in each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state / 2 ** 32) * 2 - 1;
  };
}

function similarities({ atOnce, unit, products }: Comparer, numbers: Int8Array, dimensions: number): number[] {
  const found: number[] = [];
  for (let from = 0; from < numbers.length; from += atOnce * dimensions) {
    const count = Math.min(atOnce, (numbers.length - from) / dimensions);
    found.push(
      ...products(numbers, from, count)
        .subarray(0, count)
        .map((sum) => sum),
    );
  }
  return found.map((product) => product * unit);
}

function unitVector(dimensions: number, next: () => number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, next);
  const length = Math.hypot(...vector);
  return vector.map((number) => number / length);
}

describe('dot products with SIMD instructions', () => {
  test.each([16, 384, 768, 3072])('equal those without, in %i dimensions', (dimensions) => {
    const next = createRandom(dimensions);
    const query = unitVector(dimensions, next);
    const vectors = 1000;
    const numbers = Int8Array.from({ length: vectors * dimensions }, () => Math.round(next() * 127));
    const expected = similarities(createScalarComparer(query), numbers, dimensions);
    const found = similarities(createSimdComparer(query), numbers, dimensions);
    expect(found).toHaveLength(vectors);
    const tolerance = 0.0001 * 127 * Math.sqrt(dimensions);
    for (const [i, one] of found.entries()) expect(Math.abs(one - (expected[i] as number))).toBeLessThan(tolerance);
  });

  test.each([384, 3072])('do not overflow, however similar vectors of %i dimensions are', (dimensions) => {
    const query = new Float32Array(dimensions).fill(1 / Math.sqrt(dimensions));
    const numbers = new Int8Array(2 * dimensions).fill(127).fill(-127, dimensions);
    const [same = 0, opposite = 0] = similarities(createSimdComparer(query), numbers, dimensions);
    expect(Math.abs(same / (127 * Math.sqrt(dimensions)) - 1)).toBeLessThan(0.0001);
    expect(opposite).toBe(-same);
  });

  test('are 0 for a query without a direction', () => {
    expect(similarities(createSimdComparer(new Float32Array(16)), new Int8Array(16).fill(5), 16)).toEqual([0]);
  });

  test('are computed without SIMD when the dimensions are not a multiple of 16', () => {
    const query = Float32Array.from({ length: 10 }, (_, i) => i);
    expect(similarities(createComparer(query), new Int8Array(10).fill(2), 10)).toEqual([90]);
  });

  test('use a module that matches its source', async () => {
    const source = readFileSync(new URL('../../src/index/sqlite/dots.wat', import.meta.url), 'utf8');
    const { parseWat } = await wabt();
    const { buffer } = parseWat('dots.wat', source, { simd: true }).toBinary({});
    expect(Buffer.from(buffer).equals(DOTS)).toBe(true);
  });
});
