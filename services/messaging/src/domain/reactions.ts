import { invalidField } from '@commonplace/kit/errors';

/** One emoji and the ids of the people who reacted with it. */
export interface Reaction {
  readonly emoji: string;
  readonly users: readonly string[];
}

/** Maximum number of different emoji on one message, and of reactions to it in total. */
export const EMOJI_PER_MESSAGE = 50;
export const REACTIONS_PER_MESSAGE = 5000;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|^[0-9#*]️?⃣$/u;

/** Returns the reactions without duplicates. Throws `invalid_value` if one of them is not a single emoji. */
export function parseReactions(reactions: readonly string[]): string[] {
  for (const [i, text] of reactions.entries()) {
    if ([...graphemes.segment(text)].length === 1 && EMOJI.test(text)) continue;
    throw invalidField(`reactions[${i}]`, 'invalid_value', 'must be one emoji.');
  }
  return [...new Set(reactions)];
}

/** Returns the reactions after a person has replaced their own, and `before` itself if nothing changes. */
export function replaceReactions(
  before: readonly Reaction[],
  userId: string,
  mine: readonly string[],
): readonly Reaction[] {
  const had = before.filter(({ users }) => users.includes(userId)).map(({ emoji }) => emoji);
  if (had.length === mine.length && mine.every((emoji) => had.includes(emoji))) return before;
  const others = before.map(({ emoji, users }) => ({ emoji, users: users.filter((id) => id !== userId) }));
  for (const emoji of mine) {
    const known = others.find((reaction) => reaction.emoji === emoji);
    if (known === undefined) others.push({ emoji, users: [userId] });
    else known.users.push(userId);
  }
  return others.filter(({ users }) => users.length > 0);
}

/** Returns whether the reactions exceed the limits of a message. */
export function areTooMany(reactions: readonly Reaction[]): boolean {
  const total = reactions.reduce((sum, { users }) => sum + users.length, 0);
  return reactions.length > EMOJI_PER_MESSAGE || total > REACTIONS_PER_MESSAGE;
}
