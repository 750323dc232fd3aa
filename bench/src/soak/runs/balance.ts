import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inherited, ROOT } from '@commonplace/acceptance/dist/src/system.js';
import type { Tally } from '../tally.js';
import { type Credits, ledgerFaults, micros, readLedger, sumOf } from './charges.js';
import { type Run, untilEnded } from './outcomes.js';
import { type Asked, ask, openScene, prepare, priceOf, Refused, type Scene } from './scene.js';

const PLAN = { turns: 1, callsPerTurn: 1, words: 20, firstMs: 30, gapMs: 2 };
/** Amount of credits that is enough for only some of the runs. */
const GRANTED = '30.123457';
const POLL_INTERVAL_MS = 25;

/**
 * Starts many runs at the same time on a small balance. Checks that it is never exceeded and that it is spent down to
 * the last millionth.
 */
export async function soakBalance(count: number, home: string, tally: Tally): Promise<void> {
  const scene = await openScene(home, { settings: { COMMONPLACE_RUN_WORKERS: '200' } });
  try {
    grant(scene, GRANTED);
    const asked = Array.from({ length: count }, () => prepare(scene.model, PLAN, 'run'));
    const watching = new AbortController();
    const lowest = watchBalance(scene, watching.signal);
    const refused = (await Promise.all(asked.map((one) => tryToAsk(scene, one)))).filter(
      (isRefused) => isRefused,
    ).length;
    const accepted = asked.filter(({ runId }) => runId !== undefined);
    const runs = await untilEnded(scene.client, accepted, 120_000);
    watching.abort();
    const low = await lowest;
    tally.check('runs on one balance: it is never negative', low.faults);
    tally.check('runs on one balance: ledger, usage and runs agree', await ledgerFaults(scene.client, accepted, runs));
    tally.check('runs on one balance: it is what the provider has counted', await countFaults(scene, runs));
    const ended = (status: string) => [...runs.values()].filter((run) => run.status === status).length;
    const { available, used } = await scene.client.ask<Credits>('GET', '/credits');
    const { calls } = scene.model.billed();
    console.log(
      `\n${count} runs on ${GRANTED} credits: ${ended('completed')} completed, ${ended('failed')} ended for want of credits, ${refused} refused; ` +
        `${calls} calls; ${used} used, ${available} left; the lowest of ${low.looks} looks was ${low.lowest / 1e6}`,
    );
  } finally {
    await scene.stop();
  }
}

/** Grants credits to the owner with the command line, like an operator. */
function grant({ home }: Scene, amount: string): void {
  const { email } = JSON.parse(readFileSync(join(home, 'bootstrap.json'), 'utf8')) as { email: string };
  const args = [join(ROOT, 'cli/commonplace.mjs'), 'credits', 'grant', '--tenant', email, '--amount', amount];
  const env = { ...inherited(), COMMONPLACE_DATA_DIR: join(home, 'data') };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The grant ended with ${status}: ${stdout}${stderr}`);
}

async function tryToAsk(scene: Scene, asked: Asked): Promise<boolean> {
  try {
    await ask(scene, asked);
    return false;
  } catch (error) {
    if (error instanceof Refused && [402, 409].includes(error.status)) return true;
    throw error;
  }
}

async function watchBalance({ client }: Scene, signal: AbortSignal) {
  const faults: string[] = [];
  let [looks, lowest] = [0, Number.POSITIVE_INFINITY];
  while (!signal.aborted) {
    const { available, reserved, granted, used } = await client.ask<Credits>('GET', '/credits');
    const left = micros(available ?? '-1');
    lowest = Math.min(lowest, left);
    looks++;
    if (left < 0) faults.push(`${available} are available`);
    const sum = left + micros(reserved) + micros(used);
    if (sum !== micros(GRANTED))
      faults.push(`${available} available, ${reserved} reserved, ${used} used of ${granted}`);
    await sleep(POLL_INTERVAL_MS);
  }
  return { faults, looks, lowest };
}

/** Returns the differences between the account and what the scripted provider has counted, call by call. */
async function countFaults({ client, model }: Scene, runs: ReadonlyMap<string, Run>): Promise<string[]> {
  const counted = model.calls.map(({ billed }) => priceOf(billed));
  const { available, used, reserved, overage_used: overage } = await client.ask<Credits>('GET', '/credits');
  const spent = sumOf(counted);
  const faults: string[] = [];
  if (micros(used) !== spent) faults.push(`${used} used, ${spent} millionths counted`);
  if (micros(available ?? '') + spent !== micros(GRANTED)) faults.push(`${available} left after ${spent} millionths`);
  if (micros(reserved) !== 0 || micros(overage) !== 0) faults.push(`${reserved} reserved, ${overage} beyond`);
  const charges = (await readLedger(client)).filter(({ kind }) => kind === 'consume');
  if (charges.length !== counted.length) faults.push(`${charges.length} charges for ${counted.length} calls`);
  const wrong = [...runs.values()].filter(
    ({ status, error }) => status !== 'completed' && error?.code !== 'credit_limit',
  );
  return [
    ...faults,
    ...wrong.map(({ id, status, error }) => `run ${id} is ${status}: ${error?.code} ${error?.message}`),
  ];
}
