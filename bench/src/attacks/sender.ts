import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { PlaceFacts } from './world.js';

/** Message to the sender's process: the attack that it has to send, or the command to stop. */
export type SenderCommand = { readonly attack: string; readonly place: PlaceFacts; readonly width: number } | 'stop';

/** Message from the sender's process: that it is sending, or, at the end, the number of answers by status. */
export type SenderReport = 'ready' | { readonly statuses: Readonly<Record<string, number>> };

/** Sends the requests of one attack until it is stopped. */
interface Sender {
  /** Waits for the requests in progress. Returns the number of answers by status. */
  stop(): Promise<Readonly<Record<string, number>>>;
}

/**
 * Runs a program in Linux's scheduling class for idle processors (util-linux). Its threads wait for those of the server,
 * with which a real sender would share no processors.
 */
const CHRT = '/usr/bin/chrt';
const IDLE = existsSync(CHRT) ? { execPath: CHRT, execArgv: ['--idle', '0', process.execPath] } : {};

/** Starts a process that sends an attack with `width` concurrent requests. Resolves when the attack is prepared. */
export async function startSender(attack: string, place: PlaceFacts, width: number): Promise<Sender> {
  const child = fork(new URL('./sender-process.js', import.meta.url), IDLE);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the sender of ${attack} ended with ${code}`);
  });
  ended.catch(() => {});
  child.send({ attack, place, width } satisfies SenderCommand);
  await Promise.race([nextReport(child), ended]);
  return {
    async stop() {
      const report = nextReport(child);
      child.send('stop' satisfies SenderCommand);
      const last = await Promise.race([report, ended]);
      return typeof last === 'object' ? last.statuses : {};
    },
  };
}

async function nextReport(child: ChildProcess): Promise<SenderReport> {
  const [report] = (await once(child, 'message')) as [SenderReport];
  return report;
}
