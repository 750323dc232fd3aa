import { describe, expect, test } from '@jest/globals';
import { fuse, type RankedResult, SCALED_BY } from '../src/domain/fuse.js';

const ranked = (...scores: readonly [string, number][]): RankedResult[] => scores.map(([id, score]) => ({ id, score }));
const ids = (hits: readonly { id: string }[]): string[] => hits.map(({ id }) => id);

const keyword = ranked(['a', 0.8], ['b', 0.4], ['c', 0.2]);
const semantic = ranked(['d', 0.9], ['b', 0.8], ['e', 0.4]);

describe('fusion', () => {
  test('ranks a result of both lists above a slightly better one of one list', () => {
    expect(ids(fuse(keyword, semantic, 0.5))[0]).toBe('b');
  });

  test('returns descending scores from 0 to 1 with the original scores', () => {
    const fused = fuse(keyword, semantic, 0.4);
    const scores = fused.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    for (const score of scores) expect(score >= 0 && score <= 1).toBe(true);
    expect(fused.find(({ id }) => id === 'b')).toEqual({
      id: 'b',
      score: expect.any(Number),
      keyword: 0.4,
      semantic: 0.8,
    });
    expect(fused.find(({ id }) => id === 'a')).toEqual({ id: 'a', score: expect.any(Number), keyword: 0.8 });
    expect(fuse(ranked(['a', 0.5]), ranked(['a', 0.3]), 0.4)[0]?.score).toBeCloseTo(1);
  });

  test('keeps the keyword order at alpha 0, and the semantic order at alpha 1', () => {
    expect(ids(fuse(keyword, semantic, 0))).toEqual(['a', 'b', 'c']);
    expect(ids(fuse(keyword, semantic, 1))).toEqual(['d', 'b', 'e']);
  });

  test('lets an empty list take nothing from the other', () => {
    expect(ids(fuse([], semantic, 0.4))).toEqual(['d', 'b', 'e']);
    expect(ids(fuse(keyword, [], 0.4))).toEqual(['a', 'b', 'c']);
    expect(fuse([], [], 0.4)).toEqual([]);
  });

  test('keeps equal scores in rank order', () => {
    const same = ranked(['x', 0.5], ['y', 0.5], ['z', 0.5]);
    expect(ids(fuse([], same, 0.4))).toEqual(['x', 'y', 'z']);
    expect(ids(fuse(same, [], 0.4))).toEqual(['x', 'y', 'z']);
  });

  test('keeps the head of the order when the semantic list gets longer', () => {
    const long = Array.from({ length: SCALED_BY * 2 }, (_, i) => ({ id: `s${i}`, score: 1 - i / 1000 }));
    const head = (list: readonly RankedResult[]) => fuse(keyword, list, 0.4).slice(0, 20);
    expect(head(long)).toEqual(head(long.slice(0, SCALED_BY)));
  });
});
