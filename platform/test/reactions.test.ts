import { describe, expect, test } from '@jest/globals';
import { parseReactions, type Reaction, replaceReactions } from '../src/reactions/index.js';

const emoji = (count: number) => Array.from({ length: count }, (_, i) => String.fromCodePoint(0x1f600 + i));

describe('reactions', () => {
  test.each(['👍', '👨‍👩‍👧', '🇩🇪', '1️⃣', '❤️'])('%s is one emoji', (text) =>
    expect(parseReactions([text, text])).toEqual([text]),
  );

  test.each(['', 'a', '1', '👍👍', ':)'])('%j is none', (text) => {
    expect(() => parseReactions([text])).toThrow('reactions[0] must be one emoji.');
  });

  test('of one person are replaced, and remain as they are if nothing changes', () => {
    const before: Reaction[] = [{ emoji: '👍', users: ['ada', 'bob'] }];
    expect(replaceReactions(before, 'ada', ['👍'])).toBe(before);
    expect(replaceReactions(before, 'ada', ['🎉'])).toEqual([
      { emoji: '👍', users: ['bob'] },
      { emoji: '🎉', users: ['ada'] },
    ]);
    expect(replaceReactions([{ emoji: '👍', users: ['ada'] }], 'ada', [])).toEqual([]);
  });

  test('are limited, by emoji and in total', () => {
    expect(replaceReactions([], 'ada', emoji(50))).toHaveLength(50);
    expect(() => replaceReactions([], 'ada', emoji(51))).toThrow('There may be no more than 50 reactions.');
    const full = [{ emoji: '👍', users: Array.from({ length: 5000 }, (_, i) => `person-${i}`) }];
    expect(() => replaceReactions(full, 'ada', ['👍'])).toThrow('There may be no more than 5000 reactions.');
  });
});
