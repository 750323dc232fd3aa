import type { Node } from '../../domain/node.js';

export type NewNode = { -readonly [F in keyof Omit<Node, 'version'>]: Node[F] };

/** Returns a time, or now if it is absent or in the future. */
export function past(time: string | undefined, now: string): string {
  return time === undefined || time > now ? now : time;
}
