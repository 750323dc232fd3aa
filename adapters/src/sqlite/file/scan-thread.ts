import { parentPort, workerData } from 'node:worker_threads';
import { answerTask } from '@commonplace/kit/workers';
import { openConnection } from './binding.js';
import type { Scan } from './scanner.js';

/** Worker thread that runs queries which read many records, one at a time, on a connection of its own. */
const port = parentPort;
if (port === null) throw new Error('this script must run in a worker thread');
const { file } = workerData as { readonly file: string };
const connection = openConnection(file, { readOnly: true });

port.on('message', ({ sql, params }: Scan) => {
  void answerTask(() => connection.all(sql, params)).then((answer) => port.postMessage(answer));
});
