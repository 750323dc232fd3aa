import { closeSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { openConnection } from './binding.js';

/** Copies one database file to another; what it throws ends the thread, and reaches `backUp`. */
const { from, to } = workerData as { from: string; to: string };
// SQLite fills a file that is there and empty, and leaves its mode as it is.
closeSync(openSync(to, 'wx', 0o600));
try {
  const connection = openConnection(from);
  try {
    connection.run('VACUUM INTO ?', [to]);
  } finally {
    connection.close();
  }
} catch (error) {
  // The driver's own errors lose their words on the way to another thread.
  throw new Error(`the database can not be copied: ${(error as Error).message}`);
}
