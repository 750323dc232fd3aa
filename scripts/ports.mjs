// Ports of the loopback for processes that have to be told theirs before they start.
import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** Below the ports that outgoing connections are given, which could take one before its process listens on it. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_000;
/** A port that was given out is left alone by everybody who asks here, until its process must long have taken it. */
// The same for all on the machine, wherever each has its temporary files.
const TAKEN = '/tmp/commonplace-ports';
const TAKEN_MS = 600_000;

/** The first of so many ports in a row that nobody listens on, and that are given to nobody else for ten minutes. */
export async function freePort(row = 1) {
  mkdirSync(TAKEN, { recursive: true });
  for (;;) {
    const first = randomInt(FIRST_PORT, LAST_PORT);
    const ports = Array.from({ length: row }, (_, i) => first + i);
    if (ports.every(takes) && (await Promise.all(ports.map(isFree))).every(Boolean)) return first;
  }
}

/** As many ports as are asked for. */
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
