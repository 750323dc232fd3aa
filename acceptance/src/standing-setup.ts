import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Place, STANDING, STANDING_URL, type StandingName } from './standing.js';
import { mode, type OwnSystem, type Settings, startSystem } from './system.js';

/** State that setup and teardown share. It is on the global object, because jest loads each of them separately. */
export const shared = globalThis as { endStanding?: () => Promise<void> };

/**
 * Milliseconds for which a system without users keeps running, because the next suite often needs it soon. One process
 * that is at rest costs less than another start; a mesh has many.
 */
const LINGER_MS = mode === 'mesh' ? 10_000 : 10 * 60_000;

interface Standing {
  /** Adds a user of the system. The first user starts it. Returns the facts about the system as JSON. */
  enter(): Promise<string>;
  leave(): void;
  said(): Promise<string>;
  end(): Promise<void>;
}

/** Creates a shared system, which starts for its first user and ends when all users have left. */
function createStanding(settings: Settings): Standing {
  let system: Promise<OwnSystem> | undefined;
  let ending: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let users = 0;
  const end = async () => {
    const last = system;
    system = undefined;
    ending = (await last?.catch(() => undefined))?.stop();
    await ending;
  };
  return {
    async enter() {
      users++;
      clearTimeout(timer);
      system ??= startSystem(settings);
      const { baseUrl, owner, places } = await system;
      return JSON.stringify({ baseUrl, owner, places } satisfies Place);
    },
    leave() {
      users--;
      if (users === 0) timer = setTimeout(() => void end(), LINGER_MS);
    },
    said: async () => (await system)?.said() ?? '',
    async end() {
      clearTimeout(timer);
      await ending;
      await end();
    },
  };
}

/**
 * Runs once before all tests, in the process that outlives them. Serves facts about shared systems and starts each of
 * them for its first user.
 */
export default async function setup(): Promise<void> {
  const all = new Map<string, Standing>();
  const standing = (name: string) => {
    const found = all.get(name) ?? createStanding(STANDING[name as StandingName]);
    all.set(name, found);
    return found;
  };
  const answer = (path: string): Promise<string> => {
    const [, name = '', what] = path.split('/');
    if (!(name in STANDING)) throw new Error(`There is no standing system ${name}.`);
    if (what === 'said') return standing(name).said();
    if (what !== 'left') return standing(name).enter();
    standing(name).leave();
    return Promise.resolve('');
  };
  const server = createServer(async (request, response) => {
    try {
      response.end(await answer(request.url ?? ''));
    } catch (error) {
      response.writeHead(503).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env[STANDING_URL] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  shared.endStanding = async () => {
    server.closeAllConnections();
    server.close();
    await Promise.all([...all.values()].map((one) => one.end()));
  };
}
