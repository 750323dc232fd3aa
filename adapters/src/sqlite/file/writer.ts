import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { openConnection } from './binding.js';
import { commitGroup } from './group-commit.js';
import type { Reply, Request, Unit } from './writer-protocol.js';

/**
 * The writer thread, which is the only one that waits for the disk. Units that arrive during a commit share the next
 * transaction.
 */

/** Maximum number of units in one transaction, so that the first does not wait for the last. */
const MAX_UNITS = 512;

function serve(port: NonNullable<typeof parentPort>, file: string): void {
  const send = (reply: Reply): void => port.postMessage(reply);
  const connection = openConnection(file);
  // The cache is half of a reader's: the writer rarely reads a page twice, and the rest is in the system's page cache.
  connection.exec('PRAGMA cache_size = -16000');
  // Checkpoints are fewer and larger than with SQLite's default of 1,000 pages; afterwards the log is truncated to 64
  // MB.
  connection.exec('PRAGMA wal_autocheckpoint = 4000');
  connection.exec('PRAGMA journal_size_limit = 67108864');

  port.on('message', (first: Request) => {
    const requests = [first];
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      requests.push(next.message as Request);
    }
    const units = requests.flatMap((request): readonly Unit[] => request.units);
    for (let at = 0; at < units.length; at += MAX_UNITS) {
      send(commitGroup(connection, units.slice(at, at + MAX_UNITS)));
    }
    if (requests.some((request) => request.close)) {
      connection.close();
      port.close();
    }
  });
  send({ ready: true });
}

if (parentPort !== null) {
  try {
    serve(parentPort, (workerData as { file: string }).file);
  } catch (error) {
    parentPort.postMessage({ ready: false, message: String((error as Error).message) } satisfies Reply);
    parentPort.close();
  }
}
