import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@commonplace/acceptance/dist/src/system.js';
import { type Client, openClient } from './http.js';
import type { Pace, Subject } from './measure.js';
import type { Options } from './options.js';
import { type StartOptions, type System, startSystem } from './system.js';

/** Connections of the load, and of what fills a system. */
export const CONNECTIONS = 32;

/** A system, somebody who may do everything in it, and itself as what is measured. */
export interface Measured {
  readonly system: System;
  readonly client: Client;
  readonly subject: Subject;
}

export interface Bench {
  readonly options: Options;
  readonly pace: Pace;
  say(line: string): void;
  /** The embedded system that most rows share; started when first asked for. */
  shared(): Promise<Measured>;
  /** Whether a row has used it. */
  readonly isShared: boolean;
  /** Ends the shared system and starts it again on its data. */
  restart(): Promise<Measured>;
  /** A system with data of its own, for one row. */
  start(name: string, options?: Omit<StartOptions, 'home'>): Promise<Measured>;
  /** Ends all systems and removes their data. */
  close(): Promise<void>;
}

export function createBench(options: Options, say: (line: string) => void): Bench {
  // Beside the project rather than in the temporary folder, which may lie in memory and cost no sync.
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
    get isShared() {
      return shared !== undefined;
    },
    async shared() {
      shared ??= await start('shared');
      return shared;
    },
    async restart() {
      await shared?.subject.stop();
      shared = await start('shared');
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
