import { invalidField, LimitReached } from '@commonplace/kit/errors';

/** One emoji and the ids of the people who reacted to a comment or a message with it. */
export interface Reaction {
  readonly emoji: string;
  readonly users: readonly string[];
}

/** Maximum number of different emoji on one record, and of reactions to it in total. */
export const MAX_EMOJI = 50;
export const MAX_REACTIONS = 5000;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|^[0-9#*]\uFE0F?\u20E3$/u;

/** Returns whether a text is a single emoji. */
export function isEmoji(text: string): boolean {
  return [...graphemes.segment(text)].length === 1 && EMOJI.test(text);
}

/** Returns the reactions without repeats. Throws `invalid_value` if one of them is not a single emoji. */
export function parseReactions(reactions: readonly string[]): string[] {
  for (const [i, text] of reactions.entries()) {
    if (isEmoji(text)) continue;
    throw invalidField(`reactions[${i}]`, 'invalid_value', 'must be one emoji.');
  }
  return [...new Set(reactions)];
}

/**
 * Returns the reactions after a person has replaced their own; returns `before` itself if nothing changes. Throws
 * `limit_reached`.
 */
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
  const after = others.filter(({ users }) => users.length > 0);
  requireWithinLimits(after);
  return after;
}

function requireWithinLimits(reactions: readonly Reaction[]): void {
  const total = reactions.reduce((sum, { users }) => sum + users.length, 0);
  if (total > MAX_REACTIONS) throw LimitReached({ limit: MAX_REACTIONS, what: 'reactions' });
  if (reactions.length > MAX_EMOJI) throw LimitReached({ limit: MAX_EMOJI, what: 'reactions' });
}
