import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { STANDING_SETTINGS, STANDING_URL } from './standing.js';
import { type OwnSystem, startSystem } from './system.js';

/** Jest loads its setup and its teardown each on their own; what they share is on the global object. */
export const shared = globalThis as { endStanding?: () => Promise<void> };

/**
 * Runs once before all tests, in the process that outlives them: answers with the URL of a standing system, which it
 * starts for the first that asks.
 */
export default async function setup(): Promise<void> {
  let standing: Promise<OwnSystem> | undefined;
  const server = createServer((request, response) => {
    standing ??= startSystem(STANDING_SETTINGS);
    standing
      .then((system) => (request.url === '/said' ? system.said() : system.baseUrl))
      .then(
        (text) => response.end(text),
        (error) => response.writeHead(503).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env[STANDING_URL] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  shared.endStanding = async () => {
    server.closeAllConnections();
    server.close();
    await (await standing?.catch(() => undefined))?.stop();
  };
}
