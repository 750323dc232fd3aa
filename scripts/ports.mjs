// Reserves loopback ports for processes that need to know their port before they start.
import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/**
 * First port of the range. The range is below the ports of outgoing connections, one of which could otherwise take a
 * port before its process listens on it.
 */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_000;
/**
 * Folder with a file for each reserved port. A port is not reserved again until its process must have opened it. The
 * folder is the same for all processes of the machine, whatever their folders for temporary files.
 */
const TAKEN = '/tmp/commonplace-ports';
const TAKEN_MS = 600_000;

/** Returns the first of `row` consecutive unused ports, and reserves all of them for ten minutes. */
export async function freePort(row = 1) {
  mkdirSync(TAKEN, { recursive: true });
  for (;;) {
    const first = randomInt(FIRST_PORT, LAST_PORT);
    const ports = Array.from({ length: row }, (_, i) => first + i);
    if (ports.every(takes) && (await Promise.all(ports.map(isFree))).every(Boolean)) return first;
  }
}

/** Returns `count` free ports. */
export function freePorts(count) {
  return Promise.all(Array.from({ length: count }, () => freePort()));
}

function takes(port) {
  const file = join(TAKEN, String(port));
  const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > TAKEN_MS) rmSync(file, { force: true });
  try {
    writeFileSync(file, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function isFree(port) {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
