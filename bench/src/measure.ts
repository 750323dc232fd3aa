import { setTimeout as sleep } from 'node:timers/promises';
import { generate } from './load/generate.js';
import type { LoadRequest } from './load/spec.js';
import { cpuSeconds } from './processes.js';
import { settle } from './system.js';

/** The subject of a measurement: processes that answer at a URL. */
export interface Subject {
  readonly name: string;
  readonly url: string;
  /** URLs of further replicas, which take an equal share of the requests. */
  readonly otherUrls?: readonly string[];
  /** API key that the subject requires; undefined if it requires none. */
  readonly apiKey: string | undefined;
  pids(): number[];
  stop(): Promise<void>;
}

/** A subject and the requests that it gets. */
export interface Contestant {
  readonly subject: Subject;
  /** Distinguishes the contestant from others with the same subject. */
  readonly about?: string;
  readonly requests: readonly LoadRequest[];
  /**
   * Number of requests that each round takes from the list, continuing where the previous round ended; all by default.
   * With a long list no request is sent twice.
   */
  readonly perRound?: number;
  /**
   * Number of connections, if it differs from that of the other contestants. With one connection, the latency is that
   * of a request that waits for no other.
   */
  readonly connections?: number;
}

export interface Pace {
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/** Results of one round of a contestant. */
interface Round {
  readonly requestsPerSecond: number;
  /**
   * Processor time in milliseconds that the subject's processes used per 1,000 requests, until they were idle again.
   */
  readonly cpuPer1000: number;
}

/** Reported figures of one round, or medians of several rounds. */
interface Measurements extends Round {
  /** Latency percentiles in milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /**
   * Fraction of a core that the load generator used. Near 1, the generator was the bottleneck instead of the server.
   */
  readonly generatorBusy: number;
}

/** Medians of a contestant's rounds, and the rounds. */
export interface Figures extends Measurements {
  readonly name: string;
  readonly rounds: readonly Round[];
}

/** Measures contestants in turns, so that disturbances of the machine affect all of them equally. */
export async function compare(
  contestants: readonly Contestant[],
  { connections, rounds, seconds, warmUpSeconds }: Pace,
  say: (line: string) => void,
): Promise<Figures[]> {
  const results = contestants.map((): Measurements[] => []);
  for (const contestant of contestants) await runOnce(contestant, 0, { connections, seconds: warmUpSeconds }, 0);
  const idle = new Map<Subject, number>();
  for (const { subject } of contestants) idle.set(subject, idle.get(subject) ?? (await idleShare(subject)));
  for (let round = 1; round <= rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      const { subject } = contestant;
      const result = await runOnce(contestant, round, { connections, seconds }, idle.get(subject) ?? 0);
      results[i]?.push(result);
      say(`round ${round}/${rounds}: ${nameOf(contestant)}: ${Math.round(result.requestsPerSecond)} requests/s`);
    }
  }
  return contestants.map((contestant, i) => {
    const rounds = results[i] ?? [];
    return { name: nameOf(contestant), ...mediansOf(rounds), rounds };
  });
}

/**
 * Returns the ratio of a figure of two contestants, which is the median of the ratios of all rounds. A disturbance of
 * some seconds affects both in the same round.
 */
export function beside(one: Figures, other: Figures, read: (round: Round) => number): number {
  return median(one.rounds.map((round, i) => read(round) / read(other.rounds[i] ?? other)));
}

/** Timeout in seconds for the background work that the requests of a round cause. */
const SETTLE_SECONDS = 300;

/** Seconds for which the idle work of a subject is measured. */
const IDLE_SECONDS = 3;

/** Returns the share of a core that the idle processes of a subject use: those of a mesh renew leases and poll. */
async function idleShare(subject: Subject): Promise<number> {
  const before = cpuSeconds(subject.pids());
  await sleep(IDLE_SECONDS * 1000);
  return (cpuSeconds(subject.pids()) - before) / IDLE_SECONDS;
}

/**
 * Sends the requests of one round and waits until the subject is idle, so that the next round starts on a quiet
 * machine. `idle` is the share of a core that the subject uses anyway, which is not counted for the requests.
 */
async function runOnce(
  contestant: Contestant,
  round: number,
  { connections, seconds }: Pick<Pace, 'connections' | 'seconds'>,
  idle: number,
): Promise<Measurements> {
  const { subject } = contestant;
  const wide = contestant.connections ?? connections;
  const key: Record<string, string> = subject.apiKey === undefined ? {} : { authorization: `Bearer ${subject.apiKey}` };
  const sent = requestsOf(contestant, round).map((request) => ({
    ...request,
    headers: { ...request.headers, ...key },
  }));
  const since = performance.now();
  const before = cpuSeconds(subject.pids());
  const result = await generate({
    urls: [subject.url, ...(subject.otherUrls ?? [])],
    connections: wide,
    seconds,
    requests: sent,
  });
  await settle(() => subject.pids(), SETTLE_SECONDS);
  const elapsed = (performance.now() - since) / 1000;
  const cpu = Math.max(0, cpuSeconds(subject.pids()) - before - idle * elapsed);
  if (result.failed > 0) {
    throw new Error(`${subject.name}: ${result.failed} of ${result.requests} requests failed`);
  }
  const { p50, p95, p99, busy } = result;
  return {
    requestsPerSecond: result.requests / result.seconds,
    // On a busy machine a round may end before its first answer.
    cpuPer1000: (cpu * 1e6) / Math.max(1, result.requests),
    p50,
    p95,
    p99,
    generatorBusy: busy,
  };
}

function requestsOf({ requests, perRound }: Contestant, round: number): readonly LoadRequest[] {
  if (perRound === undefined || perRound >= requests.length) return requests;
  const from = (round * perRound) % requests.length;
  return [...requests, ...requests].slice(from, from + perRound);
}

function nameOf({ subject, about }: Contestant): string {
  return about === undefined ? subject.name : `${subject.name}, ${about}`;
}

function mediansOf(all: readonly Measurements[]): Measurements {
  const of = (read: (measurements: Measurements) => number) => median(all.map(read));
  return {
    requestsPerSecond: of(({ requestsPerSecond }) => requestsPerSecond),
    p50: of(({ p50 }) => p50),
    p95: of(({ p95 }) => p95),
    p99: of(({ p99 }) => p99),
    cpuPer1000: of(({ cpuPer1000 }) => cpuPer1000),
    generatorBusy: of(({ generatorBusy }) => generatorBusy),
  };
}

/** Merges several comparisons of the same contestants, which were restarted for each. */
export function together(comparisons: readonly (readonly Figures[])[]): Figures[] {
  const [first = []] = comparisons;
  return first.map(({ name }, i) => {
    const all = comparisons.flatMap((figures) => figures[i] ?? []);
    return { name, ...mediansOf(all), rounds: all.flatMap(({ rounds }) => rounds) };
  });
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
