import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { PlaceFacts } from './world.js';

/** Message to a sender's process: which attack to send where, or to stop. */
export type SenderCommand = { readonly attack: string; readonly place: PlaceFacts; readonly width: number } | 'stop';

/** Message of a sender's process: that it is sending, or at the end the count of each status. */
export type SenderReport = 'ready' | { readonly statuses: Readonly<Record<string, number>> };

/** Sends the requests of one attack until it is stopped. */
export interface Sender {
  /** Waits for the requests in progress. Returns how often each status was answered. */
  stop(): Promise<Readonly<Record<string, number>>>;
}

/** Starts a process that sends an attack, `width` requests at a time. Resolves when it has prepared the attack. */
export async function startSender(attack: string, place: PlaceFacts, width: number): Promise<Sender> {
  const child = fork(new URL('./sender-process.js', import.meta.url));
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
