// Measures how long other tenants wait while one Org sends expensive requests. During each attack, another Org reads,
// converts documents and requests small images. Prints the latencies of these requests compared with a quiet system.
// The exit code is 1 if one of them fails, or if reads take too long. Conversions and small images need the workers that
// an attack occupies: on few processors they take longer, and the ratios show by how much.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ATTACKS } from './attacks/attacks.js';
import { createProbes, type Probe } from './attacks/probes.js';
import { startSender } from './attacks/sender.js';
import { createPlace, openPlace, type PlaceFacts } from './attacks/world.js';
import { wholeNumber } from './options.js';
import { settle, startSystem } from './system.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    width: { type: 'string', default: '4' },
    only: { type: 'string', multiple: true, default: [''] },
    mesh: { type: 'boolean', default: false },
  },
});
/** Attacks whose name contains one of the texts given as `--only`. */
const chosen = ATTACKS.filter(({ name }) => values.only.some((text) => name.includes(text)));
if (chosen.length === 0) throw new Error(`No attack has a name that contains ${values.only.join(' or ')}.`);
/** Duration of each attack in seconds, and number of its concurrent requests. */
const [seconds, width] = [wholeNumber(values.seconds), wholeNumber(values.width)];
/** Name of the probe whose latency decides. Below, the factor by which its p99 may exceed that of a quiet system. */
const JUDGED = 'read';
const MAX_RATIO = 3;
/** Timeout of a request in milliseconds, after which the run is aborted. */
const TIMEOUT_MS = 120_000;

interface Figures {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

type Measured = ReadonlyMap<string, Figures>;

function figuresOf(times: number[]): Figures {
  const sorted = times.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  const late = new AbortController();
  const timeout = sleep(TIMEOUT_MS, undefined, { signal: late.signal }).then(() => {
    throw new Error(`a request took more than ${TIMEOUT_MS} ms`);
  });
  return Promise.race([work, timeout]).finally(() => {
    timeout.catch(() => {});
    late.abort();
  });
}

/** Runs the probes one after another until `until`, each at least once. Returns their latencies in milliseconds. */
async function measure(probes: readonly Probe[], until: number): Promise<Measured> {
  const times = new Map(probes.map(({ name }) => [name, [] as number[]]));
  do {
    for (const { name, perRound, run } of probes) {
      for (let i = 0; i < perRound; i++) {
        const since = performance.now();
        await withTimeout(run());
        times.get(name)?.push(performance.now() - since);
      }
    }
  } while (performance.now() < until);
  return new Map([...times].map(([name, all]) => [name, figuresOf(all)]));
}

/**
 * Sends the requests of an attack from another process while the probes run. Returns the latencies of the probes and
 * the statuses that the attack received.
 */
async function attack(place: PlaceFacts, name: string, probes: readonly Probe[]) {
  const sender = await startSender(name, place, width);
  const measured = await measure(probes, performance.now() + seconds * 1000);
  return { measured, statuses: await withTimeout(sender.stop()) };
}

function describeFigures(measured: Measured, quiet?: Measured): string {
  return [...measured]
    .map(([name, { p50, p99 }]) => {
      const before = quiet?.get(name)?.p99;
      const ratio = before === undefined ? '' : ` (× ${(p99 / before).toFixed(1)})`;
      return `${name} p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms${ratio}`;
    })
    .join(' · ');
}

const home = mkdtempSync(join(tmpdir(), 'commonplace-attacks-'));
// The reader names its own address: on a real network it and the attacker have different ones.
const settings = { COMMONPLACE_SIGN_UP: 'open', COMMONPLACE_TRUSTED_PROXIES: '127.0.0.1' };
const system = await startSystem({ home, mesh: values.mesh, settings });
let missed = 0;
try {
  const hostile = await createPlace(system.baseUrl, 'Hostile');
  const probes = await createProbes(openPlace(await createPlace(system.baseUrl, 'Quiet')));
  await measure(probes, performance.now() + 3000);
  for (const { name } of chosen) {
    await settle(system.pids);
    // Quiet is measured anew for each attack, because the speed of a shared machine changes within minutes.
    const quiet = await measure(probes, performance.now() + seconds * 1000);
    const { measured, statuses } = await attack(hostile, name, probes);
    const statusCounts = Object.entries(statuses)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ');
    const held = [...measured].every(
      ([probe, { p99 }]) => probe !== JUDGED || p99 <= MAX_RATIO * (quiet.get(probe)?.p99 ?? 0),
    );
    if (!held) missed++;
    console.log(`${held ? 'held  ' : 'MISSED'} ${name} [${statusCounts}]: ${describeFigures(measured, quiet)}`);
    console.log(`       quiet: ${describeFigures(quiet)}`);
  }
} finally {
  await system.stop();
  rmSync(home, { recursive: true, force: true });
}
console.log(
  missed === 0
    ? 'Reads stay within bounds during all attacks.'
    : `During ${missed} attacks, the p99 of reads is more than ${MAX_RATIO} times that of a quiet system.`,
);
process.exitCode = missed === 0 ? 0 : 1;
