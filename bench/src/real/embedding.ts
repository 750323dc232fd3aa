import { cpuSeconds } from '../processes.js';
import type { Check } from '../row.js';
import { settle } from '../system.js';
import type { RealWorld } from './world.js';

const PAGES = 48;
const SETTLE_SECONDS = 600;

/**
 * Measures the processor time for a new page and for a changed sentence with embeddings, until the system is idle
 * again.
 */
export async function measureEmbedding(world: RealWorld): Promise<Check[]> {
  const { client, folderIds, measured } = world;
  const pages = world.pages.slice(0, PAGES);
  const { pids } = measured.system;
  const ids: string[] = [];
  const costOf = async (act: () => Promise<void>) => {
    const before = cpuSeconds(pids());
    await act();
    await settle(pids, SETTLE_SECONDS);
    return ((cpuSeconds(pids()) - before) * 1000) / pages.length;
  };
  const created = await costOf(async () => {
    for (const [i, { name, markdown }] of pages.entries()) {
      // Each copy gets its own first sentence, because identical text would reuse the vectors of the original.
      const content = `Copy ${i} of ${name}.\n\n${markdown}`;
      const body = { type: 'document', name, parent_id: folderIds[i % folderIds.length], content };
      ids.push((await client.ask<{ id: string }>('POST', '/resources', body)).id);
    }
  });
  const edited = await costOf(async () => {
    for (const [i, id] of ids.entries()) {
      const content = `Copy ${i} of ${pages[i]?.name}.\n\n${pages[i]?.markdown}\n\nOne more sentence, number ${i}.`;
      await client.ask('PATCH', `/resources/${id}/content`, { markdown: content });
    }
  });
  const check = (what: string, value: number): Check => ({
    what,
    value,
    unit: 'ms',
    right: 'at most',
    floor: 100,
    aim: 50,
  });
  return [
    check('processor time of embedding a page of 4 KB', created),
    check('processor time of embedding a sentence added to it', edited),
  ];
}
