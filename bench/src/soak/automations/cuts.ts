import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  countEffects,
  createEffectScene,
  EFFECTS,
  type EffectScene,
} from '@commonplace/acceptance/dist/src/automation-effects.js';
import type { Made } from '../../fill.js';
import type { Tally } from '../tally.js';
import { type Asked, begin, notCompleted, STUCK_MS, type StoredRun, type Subject, untilEnded } from './subject.js';

/** Number of runs that start before each kill. */
const RUNS = 6;
/** Maximum number of rounds as a multiple of the requested ones, when every action has to be cut at least once. */
const MORE_ROUNDS = 3;

interface StoredStep {
  readonly runId: string;
  readonly seq: number;
  readonly type: string;
  readonly status: string;
  readonly key: string;
}

interface ShownRun {
  readonly steps: readonly unknown[];
}

/** The point at which each run was at the last kill in the hands of one worker, by run and epoch of its lease. */
type Points = Map<string, { readonly id: string; readonly epoch: number; readonly point: string }>;

/**
 * Kills a process before and after each commit of automations that use an action of each kind. Checks that every effect
 * happens once. If there are at least as many rounds as actions, further rounds follow until a run was cut at each
 * action.
 */
export async function soakCuts(subject: Subject, rounds: number, tally: Tally): Promise<void> {
  const me = await subject.client().ask<{ user: Made }>('GET', '/me');
  const scene = await createEffectScene(ask(subject), me.user.id, { concurrency: 'allow', timeout_seconds: 600 });
  const all: Asked[] = [];
  const points: Points = new Map();
  const isWhole = rounds >= EFFECTS.length;
  let round = 0;
  for (; round < rounds || (isWhole && round < MORE_ROUNDS * rounds && !hasAll(points)); round++) {
    const asked = Array.from({ length: RUNS }, (_, i): Asked => ({ name: `cut-${round}-${i}` }));
    all.push(...asked);
    const sent = Promise.all(asked.map((one) => begin(subject, scene.automationId, one)));
    sent.catch(() => {});
    await untilAction(subject, scene, asked, round);
    await subject.crash(() => notePoints(subject, scene, points));
    await sent;
  }
  const started = performance.now();
  const runs = await untilEnded(subject, scene.automationId);
  const tookMs = performance.now() - started;
  const cut = cutsOf(points, runs);
  const names = all.map(({ name }) => name);
  tally.check(`${subject.name}: every run of an automation completes after a kill`, notCompleted(runs));
  tally.check(`${subject.name}: there is one run for each request`, differences(all, runs));
  tally.check(`${subject.name}: every effect happens once`, await effectFaults(subject, scene, names));
  if (isWhole) tally.check(`${subject.name}: runs were cut at every action`, uncut(cut));
  const shown = [...cut].sort().map(([point, times]) => `${point} ${times}`);
  console.log(
    `\n${subject.name}: ${round} kills during ${runs.length} runs of ${EFFECTS.length} actions: ${shown.join(', ')}; ` +
      `the last run ended ${Math.round(tookMs)} ms after the last start`,
  );
}

const ask =
  (subject: Subject) =>
  <T>(method: string, path: string, body?: unknown): Promise<T> =>
    subject.client().ask<T>(method, path, body);

/** Waits until some run has approximately reached an action. Each round selects another action. */
async function untilAction(subject: Subject, { automationId }: EffectScene, asked: readonly Asked[], round: number) {
  const action = round % (EFFECTS.length + 1);
  const one = asked[round % asked.length];
  const until = performance.now() + 5_000;
  while (performance.now() < until) {
    if (one?.id !== undefined) {
      const path = `/automations/${automationId}/runs/${one.id}`;
      const run = await ask(subject)<ShownRun>('GET', path).catch(() => undefined);
      if (run !== undefined && run.steps.length >= action) break;
    }
    await sleep(1);
  }
  await sleep(randomInt(0, 12));
}

const OWNERS = ['resources', 'messaging', 'automations'];

/** Records the points of all runs that a worker is currently processing. */
async function notePoints(subject: Subject, { automationId }: EffectScene, points: Points): Promise<void> {
  const runs = await subject.records<StoredRun>('automations', 'automation_runs');
  const steps = await subject.records<StoredStep>('automations', 'automation_steps');
  // The service that owns an effect stores its answer under the key of the step, in the commit of the effect.
  const answered = new Set<string>();
  for (const owner of OWNERS) {
    for (const { id } of await subject.records<Made>(owner, 'idempotency')) answered.add(id);
  }
  for (const { id, lease, status } of runs.filter((run) => run.automationId === automationId)) {
    if (status !== 'running' || lease === undefined) continue;
    const own = steps.filter(({ runId }) => runId === id).sort((a, b) => a.seq - b.seq);
    const last = own.at(-1);
    const point =
      last === undefined ? 'claimed' : `${last.type} ${answered.has(last.key) ? 'after its effect' : 'before it'}`;
    points.set(`${id}:${lease.epoch}`, { id, epoch: lease.epoch, point });
  }
}

/** Counts the points at which runs were cut off, which are those of runs that another worker has claimed afterwards. */
function cutsOf(points: Points, runs: readonly StoredRun[]): Map<string, number> {
  const epochs = new Map(runs.map(({ id, lease }) => [id, lease?.epoch ?? 0]));
  const counts = new Map<string, number>();
  for (const { id, epoch, point } of points.values()) {
    if ((epochs.get(id) ?? 0) > epoch) counts.set(point, (counts.get(point) ?? 0) + 1);
  }
  return counts;
}

const ACTIONS = [
  ...['create_resource', 'update_content', 'append_rows', 'update_row', 'add_tag', 'comment', 'send_message'],
  ...['create_work_item', 'notify'],
];

const hasAll = (points: Points): boolean => {
  const seen = [...points.values()].map(({ point }) => point.split(' ')[0]);
  return ACTIONS.every((action) => seen.includes(action));
};

const uncut = (cut: ReadonlyMap<string, number>): string[] =>
  ACTIONS.filter((action) => ![...cut.keys()].some((point) => point.startsWith(`${action} `)));

function differences(asked: readonly Asked[], runs: readonly StoredRun[]): string[] {
  const ids = new Set(runs.map(({ id }) => id));
  const missing = asked.filter(({ id = '' }) => !ids.has(id)).map(({ name }) => `${name} has no run`);
  return runs.length === asked.length ? missing : [...missing, `${runs.length} runs of ${asked.length} requests`];
}

async function effectFaults(subject: Subject, scene: EffectScene, names: readonly string[]): Promise<string[]> {
  const until = performance.now() + STUCK_MS;
  for (;;) {
    const counts = await countEffects(ask(subject), scene, names);
    const faults = [...counts].flatMap(([name, found]) =>
      // All runs write the same cell, so only the last value is left.
      EFFECTS.filter((effect) => effect !== 'cell' && found[effect] !== 1).map(
        (effect) => `${name}: ${found[effect]} × ${effect}`,
      ),
    );
    // Notices arrive by the bus a moment after the step.
    if (faults.length === 0 || performance.now() > until) return faults;
    await sleep(1_000);
  }
}
