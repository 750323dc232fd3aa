import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '@commonplace/kit/priority';
import { answerTask } from '@commonplace/kit/workers';
import { checkTwiceWithin } from '../domain/schema-check.js';
import type { CheckTask } from './index.js';

/** Worker thread that checks values against schemas, one at a time. */
const port = parentPort;
if (port === null) throw new Error('must run in a worker thread');
// Lowers the OS priority, so that requests that need no thread go first where processors are scarce. On Linux, pid 0
// means this thread alone.
if (process.platform === 'linux') lowerPriority(5);

port.on('message', ({ schema, value, ms }: CheckTask) => {
  void answerTask(() => checkTwiceWithin(ms, schema, value)).then((answer) => port.postMessage(answer));
});
