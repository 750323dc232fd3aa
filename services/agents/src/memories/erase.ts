import { inWork, type Where } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import type { MemoryRecord } from '../stores/memories.js';

const CHUNK = 200;

/**
 * Erases all matching memories, a few hundred per unit of work. Returns their number. If it is interrupted, another
 * call erases the rest.
 */
export async function eraseMemories(
  { memories, store }: Pick<Parts, 'memories' | 'store'>,
  where: Where<MemoryRecord>,
): Promise<number> {
  for (let erased = 0; ; ) {
    const found = await memories.find({ where, anyOrder: true, limit: CHUNK });
    erased += await inWork(store, async (work) => {
      const present = await Promise.all(found.map(({ id }) => work.get(memories, id)));
      const left = present.filter((memory) => memory !== undefined);
      for (const memory of left) work.remove(memories, memory);
      return left.length;
    });
    if (found.length < CHUNK) return erased;
  }
}
