import { workerData } from 'node:worker_threads';
import { performTasks } from '@commonplace/kit/workers';
import { openConnection } from './binding.js';
import type { Scan } from './scanner.js';

/** Worker thread that runs queries which read many records, one at a time, on a connection of its own. */
const { file } = workerData as { readonly file: string };
const connection = openConnection(file, { readOnly: true });

performTasks(({ sql, params }: Scan) => connection.all(sql, params), { isUrgent: true });
