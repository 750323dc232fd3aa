import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  countEffects,
  createEffectScene,
  EFFECTS,
  type EffectScene,
} from '@commonplace/acceptance/dist/src/automation-effects.js';
import type { Made } from '../../fill.js';
import { type Client, openClient } from '../../http.js';
import { startSystem } from '../../system.js';
import { readDocuments } from '../runs/charges.js';
import type { Tally } from '../tally.js';

/** Runs that are under way at each kill. */
const RUNS = 6;
/** A run is taken up again when its worker's lease has ended; one process alone takes its own back at once. */
const STUCK_MS = 60_000;
const LOOK_MS = 20;
const CONNECTIONS = 16;

interface StoredRun {
  readonly id: string;
  readonly status: string;
}

interface StoredStep {
  readonly runId: string;
  readonly seq: number;
  readonly type: string;
  readonly status: string;
  readonly key: string;
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly steps: readonly { readonly status: string; readonly attempt: number }[];
}

/** A run that was asked for. */
interface Asked {
  readonly name: string;
  id?: string;
}

/**
 * Kills the system while an automation with an action of each kind runs, before and after each of its commits. Every
 * effect happens once.
 */
export async function soakAutomations(rounds: number, home: string, tally: Tally): Promise<void> {
  let system = await startSystem({ home, settings: { COMMONPLACE_SAMPLE: '0' } });
  let client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
  const hits = new Map<string, number>();
  const all: Asked[] = [];
  let slowest = 0;
  try {
    const me = await client.ask<{ user: Made }>('GET', '/me');
    const scene = await createEffectScene(ask(client), me.user.id, { concurrency: 'allow', timeout_seconds: 600 });
    const tokens = { port: Number(new URL(system.baseUrl).port) };
    for (let round = 0; round < rounds; round++) {
      const asked = Array.from({ length: RUNS }, (_, i) => ({ name: `cut-${round}-${i}` }) as Asked);
      const sent = asked.map((one) => begin(client, scene, one).catch(() => {}));
      await untilAction(client, scene, asked, round);
      await system.kill();
      client.close();
      await Promise.all(sent);
      for (const { id } of asked) count(hits, pointOf(home, id));
      system = await startSystem({ home, ...tokens, settings: { COMMONPLACE_SAMPLE: '0' } });
      client = openClient(system.baseUrl, system.apiKey, CONNECTIONS);
      const started = performance.now();
      // What was not answered is asked for again, with the same key.
      for (const one of asked) await begin(client, scene, one);
      const runs = await untilEnded(client, scene, asked);
      slowest = Math.max(slowest, performance.now() - started);
      const wrong = runs.filter(({ status }) => status !== 'completed');
      tally.check(
        'automations: every run completes after a kill',
        wrong.map(({ id, status, error }) => `${id} is ${status}: ${error?.code} ${error?.message}`),
      );
      all.push(...asked);
    }
    const names = all.map(({ name }) => name);
    tally.check('automations: every effect happens once', await effectFaults(client, scene, names));
  } finally {
    client.close();
    await system.stop();
  }
  const shown = [...hits].sort().map(([point, times]) => `${point} ${times}`);
  console.log(
    `\n${rounds} kills of ${RUNS} automations each: ${shown.join(', ')}; ` +
      `the last run ended ${Math.round(slowest)} ms after the start (limit ${STUCK_MS})`,
  );
}

const ask =
  (client: Client) =>
  <T>(method: string, path: string, body?: unknown): Promise<T> =>
    client.ask<T>(method as 'GET', path, body as object);

const count = (hits: Map<string, number>, point: string) => hits.set(point, (hits.get(point) ?? 0) + 1);

/** Starts a run. The same request again has no further effect. */
async function begin(client: Client, { automationId }: EffectScene, asked: Asked): Promise<void> {
  const body = { input: { name: asked.name } };
  const headers = { 'idempotency-key': asked.name };
  const { status, text } = await client.send('POST', `/automations/${automationId}/run`, body, headers);
  if (status !== 201) throw new Error(`POST /run answers ${status}: ${text.slice(0, 300)}`);
  asked.id = (JSON.parse(text) as { data: Made }).data.id;
}

/** Waits until some run has about come to an action: another one in each round. */
async function untilAction(client: Client, { automationId }: EffectScene, asked: readonly Asked[], round: number) {
  const action = round % (EFFECTS.length + 1);
  const until = performance.now() + 5_000;
  while (performance.now() < until) {
    const one = asked[round % asked.length];
    if (one?.id !== undefined) {
      const run = await client.ask<Run>('GET', `/automations/${automationId}/runs/${one.id}`).catch(() => undefined);
      if (run !== undefined && run.steps.length >= action) break;
    }
    await sleep(1);
  }
  await sleep(randomInt(0, 12));
}

/** Returns where a run was when its process was killed. */
function pointOf(home: string, id: string | undefined): string {
  const run = readDocuments<StoredRun>(home, 'automations__automation_runs').find((one) => one.id === id);
  if (run === undefined) return 'asked';
  if (run.status !== 'running') return run.status;
  const steps = readDocuments<StoredStep>(home, 'automations__automation_steps').filter(({ runId }) => runId === id);
  const last = steps.sort((a, b) => a.seq - b.seq).at(-1);
  if (last === undefined) return 'claimed';
  return `${last.type} ${hasEffect(home, last) ? 'after its effect' : 'before it'}`;
}

const OWNERS = ['resources', 'messaging', 'automations'];

/** Whether the service of an action had committed its effect: it keeps the answer under the key of the step. */
function hasEffect(home: string, { key }: StoredStep): boolean {
  return OWNERS.some((owner) =>
    readDocuments<{ readonly id: string }>(home, `${owner}__idempotency`).some(({ id }) => id === key),
  );
}

async function untilEnded(client: Client, { automationId }: EffectScene, asked: readonly Asked[]): Promise<Run[]> {
  const until = performance.now() + STUCK_MS;
  for (;;) {
    const runs: Run[] = [];
    for (const { id } of asked) runs.push(await client.ask<Run>('GET', `/automations/${automationId}/runs/${id}`));
    const isOver = runs.every(({ status }) => !['queued', 'running', 'waiting'].includes(status));
    if (isOver || performance.now() > until) return runs;
    await sleep(LOOK_MS);
  }
}

async function effectFaults(client: Client, scene: EffectScene, names: readonly string[]): Promise<string[]> {
  const until = performance.now() + STUCK_MS;
  for (;;) {
    const counts = await countEffects(ask(client), scene, names);
    const faults = [...counts].flatMap(([name, found]) =>
      // All runs write the same cell, of which the last is left.
      EFFECTS.filter((effect) => effect !== 'cell' && found[effect] !== 1).map(
        (effect) => `${name}: ${found[effect]} × ${effect}`,
      ),
    );
    // Notices arrive a moment after the step, by the bus.
    if (faults.length === 0 || performance.now() > until) return faults;
    await sleep(1_000);
  }
}
