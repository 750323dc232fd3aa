import { performTasks } from '@commonplace/kit/workers';
import { routesOf } from '../routes.js';
import type { ReadTask } from './protocol.js';
import { readRequest } from './read.js';

// This thread reads requests with large bodies, one after another.
const routes = new Map(routesOf().map((route) => [`${route.method} ${route.path}`, route]));

function perform(task: ReadTask) {
  const route = routes.get(`${task.method} ${task.path}`);
  if (route === undefined) throw new Error(`there is no route ${task.method} ${task.path}`);
  return readRequest(route, task);
}

performTasks(perform, { transfers: true });
