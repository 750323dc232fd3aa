import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Running, startScript } from '../process.js';
import { ENTRY, freePort, inherited, ROOT } from '../system.js';
import { dumpMongo, restoreMongo } from './dump.js';
import { type Installation, waitUntilReady } from './installation.js';

interface Servers {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

interface ServersScript {
  startServers(options: { dir: string }): Promise<Servers>;
}

const START_MS = 240_000;

/**
 * Creates a mesh with servers of its own below `home`. As docs/operations.md says, MongoDB is dumped first and the bucket
 * copied after it; NATS and the search index are not backed up. The keys survive, as in the Secret of a release.
 */
export async function createMesh(home: string): Promise<Installation> {
  const { startServers } = (await import(
    pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href
  )) as unknown as ServersScript;
  const [data, backup] = [join(home, 'servers'), join(home, 'backup')];
  const bootstrapFile = join(home, 'bootstrap.json');
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const secret = () => randomBytes(32).toString('hex');
  const settings = {
    ...inherited(),
    ...{ COMMONPLACE_MESH_KEY: secret(), COMMONPLACE_SECRET_KEY: secret(), COMMONPLACE_SECRETS_KEY: secret() },
    ...{ COMMONPLACE_PORT: String(port), COMMONPLACE_PUBLIC_URL: baseUrl },
    ...{ COMMONPLACE_DATA_DIR: join(home, 'data'), COMMONPLACE_BOOTSTRAP_JSON: bootstrapFile },
    ...{ COMMONPLACE_RATE_LIMITS: 'off', COMMONPLACE_EMBEDDINGS: 'off', COMMONPLACE_SAMPLE: '0' },
  };
  let servers: Servers | undefined;
  let running: Running | undefined;
  const start = async () => {
    running = startScript(join(ROOT, ENTRY.mesh), { ...settings, ...servers?.env });
    await waitUntilReady(baseUrl);
    await running.says('Mesh of', START_MS);
  };
  const mongoUrl = () => servers?.env.COMMONPLACE_MONGODB_URL ?? '';
  return {
    baseUrl,
    async install() {
      // Typesense runs as another user, who has to reach its folder.
      chmodSync(home, 0o711);
      servers = await startServers({ dir: data });
      await start();
      return (JSON.parse(readFileSync(bootstrapFile, 'utf8')) as { api_key: string }).api_key;
    },
    async backUp() {
      await dumpMongo(mongoUrl(), join(backup, 'mongodb'));
      cpSync(join(data, 's3'), join(backup, 's3'), { recursive: true });
    },
    async destroy() {
      await running?.kill();
      await servers?.stop();
      rmSync(data, { recursive: true });
    },
    async restore() {
      cpSync(join(backup, 's3'), join(data, 's3'), { recursive: true });
      servers = await startServers({ dir: data });
      await restoreMongo(mongoUrl(), join(backup, 'mongodb'));
      await start();
      await rebuildIndex({ ...settings, ...servers.env });
    },
    async stop() {
      await running?.terminate();
      await servers?.stop();
    },
  };
}

/** Requests a rebuild of the search index, which a restore does not bring back. */
async function rebuildIndex(env: NodeJS.ProcessEnv): Promise<void> {
  const command = startScript(join(ROOT, 'cli/commonplace.mjs'), env, [], ['index', 'rebuild']);
  const code = await command.exited;
  if (code !== 0) throw new Error(`commonplace index rebuild ended with ${code}: ${command.stderr()}`);
}
