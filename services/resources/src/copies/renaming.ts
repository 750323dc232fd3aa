import type { Breathe } from '@commonplace/kit/slices';
import type { Renaming } from '../content/kind.js';
import { copyId } from '../domain/copy.js';

/** Returns what becomes of the ids of the sources in a copy; reads the sources in slices. */
export async function renamingOf(
  key: string,
  sources: Iterable<{ readonly id: string }> | AsyncIterable<{ readonly id: string }>,
  breathe: Breathe,
): Promise<Renaming> {
  const ids = new Set<string>();
  for await (const { id } of sources) {
    ids.add(id);
    await breathe();
  }
  return (id) => (ids.has(id) ? copyId(key, id) : undefined);
}
