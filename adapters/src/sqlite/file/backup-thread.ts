import { closeSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { openConnection } from './binding.js';

/** Copies one database file to another. Any error ends the thread and is reported to `backUp`. */
const { from, to } = workerData as { from: string; to: string };
// SQLite fills an existing empty file and keeps its mode.
closeSync(openSync(to, 'wx', 0o600));
try {
  const connection = openConnection(from);
  try {
    connection.run('VACUUM INTO ?', [to]);
  } finally {
    connection.close();
  }
} catch (error) {
  // The driver's own errors lose their message when they are passed to another thread.
  throw new Error(`the database cannot be copied: ${(error as Error).message}`);
}
