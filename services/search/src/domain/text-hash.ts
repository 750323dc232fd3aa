import { createHash } from 'node:crypto';

/** Names a state of name and text, as an index holds them: the same for the same, another for any other. */
export function textHashOf(name: string, text: string): string {
  return createHash('sha256').update(name).update('\n\0').update(text).digest('base64url').slice(0, 22);
}
