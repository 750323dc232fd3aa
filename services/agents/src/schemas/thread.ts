import { performTasks } from '@commonplace/kit/workers';
import { checkTwiceWithin } from '../domain/schema-check.js';
import type { CheckTask } from './index.js';

/** Worker thread that checks values against schemas, one at a time. */
performTasks(({ schema, value, ms }: CheckTask) => checkTwiceWithin(ms, schema, value));
