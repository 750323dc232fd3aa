import { describe, expect, test } from '@jest/globals';
import { answering, mixed } from '../src/domain/feedback.js';

const EAST = Float32Array.of(1, 0);
const NORTH = Float32Array.of(0, 1);

describe('asking again', () => {
  test('a vector is mixed with what it has found, by weight, and is not longer than 1', () => {
    const rounded = (vector: Float32Array) => Array.from(vector, (number) => Number(number.toFixed(3)));
    expect(rounded(mixed(EAST, [{ weight: 2, vector: NORTH }]))).toEqual([0.4, 0.6]);
    const both = [
      { weight: 3, vector: NORTH },
      { weight: 1, vector: EAST },
    ];
    expect(rounded(mixed(EAST, both))).toEqual([0.55, 0.45]);
    expect(rounded(mixed(EAST, [{ weight: 1, vector: EAST }]))).toEqual([1, 0]);
  });

  test('without anything found a vector stays as it is', () => {
    expect(mixed(EAST, [])).toBe(EAST);
    expect(mixed(EAST, [{ weight: 0, vector: NORTH }])).toBe(EAST);
  });

  test('the first three weigh what they stand above the fourth', () => {
    const ranking = [8, 5, 4, 2, 1].map((score) => ({ id: `e${score}`, score }));
    expect(answering(ranking)).toEqual([
      { id: 'e8', weight: 6 },
      { id: 'e5', weight: 3 },
      { id: 'e4', weight: 2 },
    ]);
    expect(answering(ranking.slice(0, 2))).toEqual([
      { id: 'e8', weight: 8 },
      { id: 'e5', weight: 5 },
    ]);
  });

  test('an entry with more passages counts once, with its best', () => {
    const ranking = [
      { id: 'a', score: 9 },
      { id: 'a', score: 8 },
      { id: 'b', score: 7 },
    ];
    expect(answering(ranking)).toEqual([
      { id: 'a', weight: 9 },
      { id: 'b', weight: 7 },
    ]);
  });

  test('where all are alike nothing is asked again', () => {
    expect(answering(['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, score: 0.5 })))).toEqual([]);
    expect(answering([])).toEqual([]);
  });
});
