import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { type Client, openClient } from './http.js';
import type { Pace, Subject } from './measure.js';
import type { Options } from './options.js';
import { type StartOptions, type System, startSystem } from './system.js';

/** Number of connections of the load, and of the client that fills a system. */
export const CONNECTIONS = 32;

/** A system, a client with every scope, and the system as the subject of a measurement. */
export interface Measured {
  readonly system: System;
  readonly client: Client;
  readonly subject: Subject;
}

export interface Bench {
  readonly options: Options;
  readonly pace: Pace;
  say(line: string): void;
  /** Returns the embedded system that most rows share. The first call starts it. */
  shared(): Promise<Measured>;
  /** Whether a row has used the shared system. */
  readonly isShared: boolean;
  /** Stops the shared system and starts it again on the same data, with further settings. */
  restart(settings?: StartOptions['settings']): Promise<Measured>;
  /** Starts a system with its own data for one row. */
  start(name: string, options?: Omit<StartOptions, 'home'>): Promise<Measured>;
  /** Creates a folder for the data of one row. */
  folder(name: string): string;
  /** Stops all systems and deletes their data. */
  close(): Promise<void>;
}

export function createBench(options: Options, say: (line: string) => void): Bench {
  // Data is stored in the project rather than in the temporary folder, because that may be in memory, where a sync
  // costs nothing.
  const parent = join(ROOT, 'bench/data');
  mkdirSync(parent, { recursive: true });
  const home = mkdtempSync(join(parent, 'bench-'));
  const running = new Set<Measured>();
  let shared: Measured | undefined;

  async function start(name: string, more: Omit<StartOptions, 'home'> = {}): Promise<Measured> {
    const system = await startSystem({ home: join(home, name), ...more });
    const measured = measuredOf(more.mesh ? 'mesh' : 'embedded', system, () => running.delete(measured));
    running.add(measured);
    return measured;
  }

  return {
    options,
    pace: { connections: CONNECTIONS, ...options },
    say,
    start,
    folder: (name) => join(home, name),
    get isShared() {
      return shared !== undefined;
    },
    async shared() {
      shared ??= await start('shared');
      return shared;
    },
    async restart(settings = {}) {
      await shared?.subject.stop();
      shared = await start('shared', { settings });
      return shared;
    },
    async close() {
      await Promise.all([...running].map(({ subject }) => subject.stop()));
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function measuredOf(name: string, system: System, ended: () => void): Measured {
  const client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  const stop = async () => {
    client.close();
    await system.stop();
    ended();
  };
  return {
    system,
    client,
    subject: { name, url: system.baseUrl, apiKey: system.apiKey, pids: system.pids, stop },
  };
}
