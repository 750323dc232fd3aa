import { eventually } from '../eventually.js';
import type { LinkedMesh } from './mesh.js';
import { ask, faultsIn, isGood, type Outcome, type Probe } from './probes.js';
import type { Fault, Link } from './proxies.js';

export interface Checked {
  readonly faults: readonly string[];
  /** Duration of the slowest answer during the fault in milliseconds. */
  readonly slowestMs: number;
  /** Number of answers with 503 and, below, of all answers. */
  readonly refused: number;
  readonly asked: number;
  /** Milliseconds from the end of the fault until everything works again. */
  readonly healedMs: number;
}

/** Milliseconds within which everything must work again. */
const HEAL_MS = 45_000;
/**
 * Number of rounds of requests during the fault. There are several, so that both existing and new connections are
 * tried.
 */
const ROUNDS = 2;

/**
 * Breaks a link. Checks that every answer arrives in time and is a success or a 503, and that everything works again
 * afterwards.
 */
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
 * Kills a service. Checks that only its own requests, and those of services that depend on it, fail; that they fail in
 * time and with `Retry-After`; and that everything works again once it is back.
 */
export async function checkKilled(mesh: LinkedMesh, probes: readonly Probe[], service: string): Promise<Checked> {
  const outcomes: Outcome[] = [];
  const faults: string[] = [];
  await mesh.kill(service);
  try {
    // Answers of the service are cached for up to two seconds.
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
 * Services that can't work without a given service, as documented on the operations page: without identity no caller is
 * authenticated, without tenancy no role is known, and without the permission of resources no contents of files and no
 * search results are shown.
 */
const NEEDED_BY: Readonly<Record<string, readonly string[]>> = {
  identity: ['tenancy', 'resources', 'files', 'search', 'messaging', 'agents', 'automations'],
  tenancy: ['identity', 'resources', 'files', 'search', 'agents', 'automations'],
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
