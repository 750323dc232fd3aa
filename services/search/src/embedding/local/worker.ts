import { lowerProcessPriority } from '@commonplace/kit/priority';
import type { ProcessData, Reply, Task } from './protocol.js';

/** The process that a model runs in. It ends with its parent process. */
const data = JSON.parse(process.argv[2] ?? '{}') as ProcessData;
// The runtime's threads, which start later, inherit the priority.
if (data.nice > 0) lowerProcessPriority(data.nice);
const inference = import('./inference.js').then(({ openInference }) => openInference(data));
// Prevents an unhandled rejection; each task reports the failure.
inference.catch(() => undefined);

process.on('message', async ({ texts }: Task) => {
  let reply: Reply;
  try {
    reply = { vectors: await (await inference).embed(texts) };
  } catch (error) {
    reply = { error: error instanceof Error ? error.message.slice(0, 500) : 'unknown' };
  }
  process.send?.(reply);
});
process.on('disconnect', () => process.exit());
