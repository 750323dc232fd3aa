import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '@commonplace/kit/priority';
import { answerTask } from '@commonplace/kit/workers';
import { routesOf } from '../../routes.js';
import { describeOperation } from './describe.js';

// This worker thread describes all operations once. Reading the comments of the contract takes half a second.
const port = parentPort;
if (port === null) throw new Error('this module has to run in a worker thread');
if (process.platform === 'linux') lowerPriority(5);

port.on('message', () => {
  void answerTask(() => routesOf().map(describeOperation)).then((answer) => port.postMessage(answer));
});
