import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Running } from '../process.js';
import { freePort } from '../system.js';
import { deploy, type Machine } from './deployment.js';
import { type Installation, waitUntilReady } from './installation.js';

/**
 * Creates the embedded installation of the chart below `home`. The containers of the rendered chart run as processes of
 * this machine, and backups go to a volume, or to a bucket if its URL is given.
 */
export async function createEmbedded(home: string, bucket: string | undefined): Promise<Installation> {
  const machine: Machine = { data: join(home, 'data'), backups: join(home, 'backups'), port: await freePort() };
  mkdirSync(machine.backups, { mode: 0o700 });
  const values = ['backup.enabled=true', ...(bucket === undefined ? [] : [`backup.bucket.url=${bucket}`])];
  const baseUrl = `http://127.0.0.1:${machine.port}`;
  let running: Running | undefined;
  const start = async (more: readonly string[] = []) => {
    mkdirSync(machine.data, { mode: 0o700 });
    running = await (await deploy(machine, [...values, ...more])).startPod();
    await waitUntilReady(baseUrl);
  };
  return {
    baseUrl,
    async install() {
      await start();
      const facts = readFileSync(join(machine.data, 'bootstrap.json'), 'utf8');
      return (JSON.parse(facts) as { api_key: string }).api_key;
    },
    backUp: async () => (await deploy(machine, values)).runBackup(),
    async destroy() {
      await running?.kill();
      rmSync(machine.data, { recursive: true });
    },
    restore: () => start(['backup.restore.from=newest', 'backup.restore.sameInstallation=true']),
    stop: async () => void (await running?.terminate()),
  };
}
