import { performTasks } from '@commonplace/kit/workers';
import { routesOf } from '../../routes.js';
import { describeOperation } from './describe.js';

// This worker thread describes all operations once. Reading the comments of the contract takes half a second.
performTasks(() => routesOf().map(describeOperation));
