import { setPriority } from 'node:os';
import type { ProcessData, Reply, Task } from './protocol.js';

/** The process that a model runs in. It ends with the process that started it. */
const data = JSON.parse(process.argv[2] ?? '{}') as ProcessData;
// Before the threads of the runtime are made, which get the priority of this one.
if (data.nice > 0) setPriority(data.nice);
const inference = import('./inference.js').then(({ openInference }) => openInference(data));
// Whoever asks is told; until then the failure waits.
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
