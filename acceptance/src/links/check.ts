import { eventually } from '../eventually.js';
import type { LinkedMesh } from './mesh.js';
import { ask, faultsIn, isGood, type Outcome, type Probe } from './probes.js';
import type { Fault, Link } from './proxies.js';

export interface Checked {
  readonly faults: readonly string[];
  /** Milliseconds of the slowest answer while something was broken. */
  readonly slowestMs: number;
  /** Answers of 503, of so many. */
  readonly refused: number;
  readonly asked: number;
  /** Milliseconds from the end of the fault until everything worked. */
  readonly healedMs: number;
}

/** Milliseconds within which everything works again. */
const HEAL_MS = 45_000;
/** Rounds of requests while something is broken: connections that are there, and new ones. */
const ROUNDS = 2;

/** Breaks a link: every answer comes in time, is good or says that it can't be given, and all is well again behind it. */
export async function checkLink(
  mesh: LinkedMesh,
  probes: readonly Probe[],
  link: Link,
  fault: Fault,
): Promise<Checked> {
  const outcomes: Outcome[] = [];
  await link.break(fault);
  try {
    for (let round = 0; round < ROUNDS; round++) outcomes.push(...(await ask(probes)));
  } finally {
    await link.heal();
  }
  return summed(mesh, probes, outcomes, []);
}

/**
 * Kills a service: only what is its own fails, and what has to ask it. Those are told in time, with the word when to
 * come again; when it is back, everything is.
 */
export async function checkKilled(mesh: LinkedMesh, probes: readonly Probe[], service: string): Promise<Checked> {
  const outcomes: Outcome[] = [];
  const faults: string[] = [];
  await mesh.kill(service);
  try {
    // What was remembered of it is good for a second or two.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    for (let round = 0; round < ROUNDS; round++) outcomes.push(...(await ask(probes)));
    for (const probe of ['live', 'ready']) {
      const { status } = await fetch(`${mesh.baseUrl}/health/${probe}`);
      if (status !== 200) faults.push(`/health/${probe} of the gateway is ${status} without ${service}`);
    }
  } finally {
    await mesh.revive(service);
  }
  const affected = NEEDED_BY[service] ?? [];
  for (const outcome of outcomes) {
    const { probe, status, code } = outcome;
    const may = probe.owner === service || affected.includes(probe.owner);
    if (!may && !isGood(outcome))
      faults.push(`${probe.name} (${probe.owner}) answers ${status} ${code} without ${service}`);
    if (probe.owner === service && isGood(outcome)) faults.push(`${probe.name} is answered without ${service}`);
  }
  return summed(mesh, probes, outcomes, faults);
}

/**
 * Whose work can't be done without a service, as the operations page says: nobody is let in without identity, no role is
 * known without tenancy, and what files hold and searches find is shown by the tree's word alone.
 */
const NEEDED_BY: Readonly<Record<string, readonly string[]>> = {
  identity: ['tenancy', 'resources', 'files', 'search', 'messaging'],
  tenancy: ['identity', 'resources', 'files', 'search'],
  resources: ['files', 'search'],
};

async function summed(
  mesh: LinkedMesh,
  probes: readonly Probe[],
  outcomes: readonly Outcome[],
  more: readonly string[],
): Promise<Checked> {
  const faults = [...faultsIn(outcomes, mesh.deadlineMs), ...more];
  const began = performance.now();
  try {
    await eventually(async () => {
      const bad = (await ask(probes)).filter((outcome) => !isGood(outcome));
      if (bad.length > 0)
        throw new Error(bad.map(({ probe, status, code }) => `${probe.name}: ${status} ${code}`).join(', '));
    }, HEAL_MS);
  } catch (error) {
    faults.push(`not well again: ${(error as Error).message}`);
  }
  return {
    faults,
    slowestMs: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
    refused: outcomes.filter(({ status }) => status === 503).length,
    asked: outcomes.length,
    healedMs: performance.now() - began,
  };
}
