import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { openConnection } from './binding.js';
import { commitGroup } from './group-commit.js';
import type { Reply, Request, Step, Unit, UnitPart } from './writer-protocol.js';

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

  /** The statements of large units that have arrived so far. */
  const begun = new Map<number, Step[]>();
  const unitsOf = ({ units, part }: Request): Unit[] => {
    if (part !== undefined) takePart(begun, part);
    return units.map(([number, steps]) => {
      const before = begun.get(number);
      begun.delete(number);
      return [number, before === undefined ? steps : [...before, ...steps]];
    });
  };

  port.on('message', (first: Request) => {
    const requests = [first];
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      requests.push(next.message as Request);
    }
    const units = requests.flatMap((request) => unitsOf(request));
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

function takePart(begun: Map<number, Step[]>, [number, steps]: UnitPart): void {
  const before = begun.get(number) ?? [];
  for (const step of steps ?? []) before.push(step);
  if (steps === undefined) begun.delete(number);
  else begun.set(number, before);
}

if (parentPort !== null) {
  try {
    serve(parentPort, (workerData as { file: string }).file);
  } catch (error) {
    parentPort.postMessage({ ready: false, message: String((error as Error).message) } satisfies Reply);
    parentPort.close();
  }
}
