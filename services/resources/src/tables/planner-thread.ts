import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '@commonplace/kit/priority';
import { answerTask, withBuffers } from '@commonplace/kit/workers';
import { createTableImage, createTableView } from './image.js';
import { planWrite, type WriteRequest, type WriteTerms } from './write.js';

/** Worker thread that plans writes to tables, one at a time, without access to stored rows. */
const port = parentPort;
if (port === null) throw new Error('must run in a worker thread');
// Lowers the OS priority, so that requests that need no thread go first where processors are scarce. On Linux, pid 0
// means this thread alone.
if (process.platform === 'linux') lowerPriority(5);

/** Reports that a write needs rows that the table has already. */
class NeedsRows extends Error {}

const states: WriteTerms['states'] = {
  async open(id, head) {
    if (head.rowCount > 0) throw new NeedsRows();
    return { head: { ...head, id }, view: createTableView(createTableImage(), []) };
  },
  async text() {
    throw new NeedsRows();
  },
};
const open: WriteTerms['open'] = async () => undefined;
const breathe = async () => {};

async function perform(request: WriteRequest): Promise<unknown> {
  try {
    return await planWrite({ ...withBuffers(request), states, open, breathe });
  } catch (error) {
    if (error instanceof NeedsRows) return undefined;
    throw error;
  }
}

port.on('message', (request: WriteRequest) => {
  void answerTask(() => perform(request)).then((answer) => port.postMessage(answer));
});
