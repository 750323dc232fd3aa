import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EventBus } from '@commonplace/kit/events';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openNatsBus } from '../../src/nats/index.js';
import { natsUrl } from '../servers.js';

interface Server {
  readonly port: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The functions of `scripts/servers.mjs` that are used here. */
interface Script {
  installTool(name: string): Promise<string>;
  startNats(program: string, data: string, port?: number): Promise<Server>;
}

const withServers = natsUrl === '' ? describe.skip : describe;

withServers('a lost connection to NATS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nats-lost-'));
  let start: (port?: number) => Promise<Server>;
  let server: Server;
  let bus: EventBus & { close(): Promise<void> };

  beforeAll(async () => {
    const script = (await import(pathToFileURL(join(process.cwd(), 'scripts/servers.mjs')).href)) as Script;
    const program = await script.installTool('nats');
    start = (port) => script.startNats(program, folder, port);
    server = await start();
  });
  afterAll(async () => {
    await bus?.close();
    await server?.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  test('refuses no listeners, which hear broadcasts again once it is back', async () => {
    bus = await openNatsBus({ url: `nats://127.0.0.1:${server.port}`, stream: 'TEST_LOST' });
    await server.stop('SIGKILL');
    const heard: string[] = [];
    const listener = await bus.listen('topic', (text) => heard.push(text));
    server = await start(server.port);
    await eventually(() => {
      bus.broadcast('topic', 'again');
      expect(heard).toContain('again');
    });
    await listener.close();
  });
});
