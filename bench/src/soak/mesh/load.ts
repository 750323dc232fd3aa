import type { Answer, Client } from '../../http.js';

/** One kind of request of a load. */
export interface Kind {
  readonly name: string;
  /** Relative frequency. The sum of all weights corresponds to all requests. */
  readonly weight: number;
  send(client: Client): Promise<Answer>;
}

interface LoadResult {
  readonly sent: number;
  readonly perSecond: number;
  /** Answers with an error, and requests without an answer. */
  readonly failures: readonly string[];
  /** Median latency of successful answers in milliseconds. Below, the maximum. */
  readonly median: number;
  readonly slowest: number;
}

interface Load {
  /** Stops sending, and waits for the requests in progress. */
  stop(): Promise<LoadResult>;
}

const TICK_MS = 10;
/** Maximum number of concurrent requests. If the machine is too slow for the rate, further requests are skipped. */
const MAX_OPEN = 32;

/** Sends requests at a constant rate, independently of their answers. */
export function startLoad(client: Client, kinds: readonly Kind[], perSecond: number): Load {
  const weighted = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind));
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
      if (open.size >= MAX_OPEN) continue;
      // Steps of seven through the list mix the kinds of requests, in the same way each time.
      const sending = sendOne(weighted[(sent * 7) % weighted.length] as Kind);
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
