import { eventually } from '../eventually.js';

/** An installation that the drill loses and restores. */
export interface Installation {
  readonly baseUrl: string;
  /** Starts the installation for the first time and waits until it serves. Returns the owner's API key. */
  install(): Promise<string>;
  /** Backs the installation up while it serves. */
  backUp(): Promise<void>;
  /** Kills the installation and deletes all data except the backup. */
  destroy(): Promise<void>;
  /** Restores the backup, starts the installation and waits until it serves. */
  restore(): Promise<void>;
  stop(): Promise<void>;
}

const READY_MS = 120_000;

/** Waits until the system at `baseUrl` is ready. */
export async function waitUntilReady(baseUrl: string): Promise<void> {
  await eventually(async () => {
    if ((await fetch(`${baseUrl}/health/ready`)).status !== 200) throw new Error('not ready');
  }, READY_MS);
}
