import { createHash } from 'node:crypto';

/** Returns a hash that identifies the name and text of an entry in an index. */
export function textHashOf(name: string, text: string): string {
  return createHash('sha256').update(name).update('\n\0').update(text).digest('base64url').slice(0, 22);
}
