import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from './binding.js';

/** Checks the structure of a database file and reports one line per fault, or one line `ok` if there is none. */
const { file } = workerData as { file: string };
const MAX_FAULTS = 20;
let lines: string[];
try {
  const connection = openConnection(file, { readOnly: true });
  try {
    lines = connection.all(`PRAGMA quick_check(${MAX_FAULTS})`).map(([line]) => String(line));
  } finally {
    connection.close();
  }
} catch (error) {
  lines = [String((error as Error).message)];
}
parentPort?.postMessage(lines);
