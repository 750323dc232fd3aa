import type { Answer, Client } from '../../http.js';

/** One kind of request of a load. */
export interface Kind {
  readonly name: string;
  /** Relative frequency, as a part of the sum of all weights. */
  readonly weight: number;
  send(client: Client): Promise<Answer>;
}

export interface LoadResult {
  readonly sent: number;
  readonly perSecond: number;
  /** Answers that are errors, and requests without an answer. */
  readonly failures: readonly string[];
  /** Latencies in milliseconds of successful answers: median and, below, maximum. */
  readonly median: number;
  readonly slowest: number;
}

export interface Load {
  /** Stops sending, and waits for the requests in progress. */
  stop(): Promise<LoadResult>;
}

const TICK_MS = 10;
/** Maximum number of concurrent requests; on a machine too slow for the rate the others are omitted. */
const MOST_OPEN = 32;

/** Sends requests at a constant rate, whether answers come or not. */
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
      // Steps of seven through the deck mix the kinds, in the same way each time.
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
