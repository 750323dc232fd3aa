import type { Answer, Client } from '../../http.js';

/** One kind of request of a load. */
export interface Kind {
  readonly name: string;
  /** Its share: of all weights together. */
  readonly weight: number;
  send(client: Client): Promise<Answer>;
}

export interface LoadResult {
  readonly sent: number;
  readonly perSecond: number;
  /** Answers that are none of success, and requests without an answer. */
  readonly failures: readonly string[];
  /** Milliseconds, of answers of success. */
  readonly median: number;
  readonly slowest: number;
}

export interface Load {
  /** Sends nothing more, and waits for what is under way. */
  stop(): Promise<LoadResult>;
}

const TICK_MS = 10;
/** Requests under way at once; where a machine is too slow for the rate, the rest is left out. */
const MOST_OPEN = 32;

/** Sends requests at a rate, whether answers come or not. */
export function startLoad(client: Client, kinds: readonly Kind[], perSecond: number): Load {
  const deck = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind));
  const failures: string[] = [];
  const times: number[] = [];
  const open = new Set<Promise<void>>();
  const started = performance.now();
  let sent = 0;
  let due = 0;

  const sendOne = async (kind: Kind): Promise<void> => {
    const began = performance.now();
    const answer = await kind.send(client).catch((error: Error) => error);
    const took = performance.now() - began;
    if (answer instanceof Error || answer.status >= 400) {
      const at = ((began - started) / 1000).toFixed(1);
      const what = answer instanceof Error ? answer.message : `${answer.status} ${answer.text.slice(0, 200)}`;
      failures.push(`${kind.name} at ${at} s, after ${Math.round(took)} ms: ${what}`);
    } else times.push(took);
  };
  const timer = setInterval(() => {
    const wanted = Math.floor(((performance.now() - started) / 1000) * perSecond);
    for (; due < wanted; due++) {
      if (open.size >= MOST_OPEN) continue;
      // Every tenth after the other, so that kinds are mixed the same way each time.
      const sending = sendOne(deck[(sent * 7) % deck.length] as Kind);
      sent++;
      open.add(sending);
      void sending.finally(() => open.delete(sending));
    }
  }, TICK_MS);

  return {
    async stop() {
      clearInterval(timer);
      const seconds = (performance.now() - started) / 1000;
      await Promise.all(open);
      times.sort((a, b) => a - b);
      return {
        sent,
        perSecond: sent / seconds,
        failures,
        median: times[times.length >> 1] ?? 0,
        slowest: times.at(-1) ?? 0,
      };
    },
  };
}
