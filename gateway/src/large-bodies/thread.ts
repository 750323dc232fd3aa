import { parentPort } from 'node:worker_threads';
import { lowerPriority } from '@commonplace/kit/priority';
import { answerTask, transferablesIn } from '@commonplace/kit/workers';
import { routesOf } from '../routes.js';
import type { ReadTask } from './protocol.js';
import { readRequest } from './read.js';

// This thread reads requests with large bodies, one after another.
const port = parentPort;
if (port === null) throw new Error('this module has to run in a worker thread');
// The thread runs at low OS priority, so that requests on the event loop go first when processors are scarce. On Linux,
// process id 0 means this thread only.
if (process.platform === 'linux') lowerPriority(5);

const routes = new Map(routesOf().map((route) => [`${route.method} ${route.path}`, route]));

function perform(task: ReadTask) {
  const route = routes.get(`${task.method} ${task.path}`);
  if (route === undefined) throw new Error(`there is no route ${task.method} ${task.path}`);
  return readRequest(route, task);
}

port.on('message', (task: ReadTask) => {
  void answerTask(() => perform(task)).then((answer) => port.postMessage(answer, transferablesIn(answer)));
});
