import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReceivedCall } from '@commonplace/kit/testing/chat-server';
import type { Tally } from '../tally.js';
import { ledgerFaults, readDocuments, reservationFaults } from './charges.js';
import { outcomeFaults, type Run, STUCK_MS, untilEnded } from './outcomes.js';
import { type Asked, ask, openScene, type Plan, prepare, type Scene } from './scene.js';

/** Points of a run at which its process is killed. */
const CUT_POINTS = [
  'queued',
  'claimed',
  'search of the first step',
  'reserved',
  'call planned',
  'sent',
  'first delta',
  'mid-delta',
  'result',
  'settle',
  'message commit',
  'tool call',
  'cancel',
  'done',
] as const;
type CutPoint = (typeof CUT_POINTS)[number];

/** Number of runs in progress at each kill. */
const RUNS = 8;
/** Step between the points of consecutive rounds. It is coprime to the number of points, so that all are visited. */
const STRIDE = 5;
const PLAN: Plan = { turns: 2, callsPerTurn: 2, words: 12, firstMs: 40, gapMs: 15 };

interface StoredRun {
  readonly id: string;
  readonly status: string;
}

interface StoredStep {
  readonly runId: string;
  readonly seq: number;
  readonly type: string;
  readonly status: string;
  readonly toolCallId?: string;
}

interface Reserved {
  readonly sourceId: string;
  readonly state: string;
  readonly step: string;
}

/** Kills the system at each point of a run, and checks that every run ends correctly. */
export async function soakCutPoints(rounds: number, home: string, tally: Tally): Promise<void> {
  const hits = new Map<CutPoint, number>(CUT_POINTS.map((point) => [point, 0]));
  const watch = new Watch();
  const scene = await openScene(home, { onProgress: (call, progress) => watch.see(call, progress) });
  const all: Asked[] = [];
  const ended = new Map<string, Run>();
  let slowest = 0;
  try {
    for (let round = 1; round <= rounds; round++) {
      // A small number of rounds is spread over all points.
      const target = CUT_POINTS[(round * STRIDE) % CUT_POINTS.length] as CutPoint;
      const asked = Array.from({ length: RUNS }, (_, i) => prepare(scene.model, PLAN, i % 2 === 0 ? 'run' : 'chat'));
      watch.begin();
      const sent = asked.map((one, i) => askLater(scene, one, i * 15));
      await until(target, watch, scene, asked);
      let points: CutPoint[] = [];
      watch.end();
      await scene.crash(async () => {
        await Promise.all(sent);
        points = asked.flatMap((one) => pointOf(home, one, watch) ?? []);
      });
      for (const point of points) hits.set(point, (hits.get(point) ?? 0) + 1);
      const started = performance.now();
      // Unanswered requests are sent again with the same key.
      await Promise.all(asked.map((one) => ask(scene, one)));
      const runs = await untilEnded(scene.client, asked);
      const tookMs = performance.now() - started;
      slowest = Math.max(slowest, tookMs);
      tally.check('every run ends as it must after a kill', await outcomeFaults(scene, asked, runs));
      all.push(...asked);
      for (const [id, run] of runs) ended.set(id, run);
      console.log(
        `cut ${round}/${rounds} (${target}): hit ${points.join(', ')}; all ended after ${Math.round(tookMs)} ms`,
      );
    }
    tally.check('ledger, usage and runs agree', await ledgerFaults(scene.client, all, ended));
    tally.check('each attempt at a step is charged once', reservationFaults(home, ended));
    tally.check('the provider was never sent a call without its result', watch.refused(scene));
  } finally {
    await scene.stop();
  }
  const counts = [...hits].map(([point, count]) => `${point} ${count}`).join(', ');
  console.log(
    `\n${rounds} kills of ${RUNS} runs each: ${counts}; the last run ended ${Math.round(slowest)} ms after the start (limit ${STUCK_MS})`,
  );
  if (rounds < CUT_POINTS.length * 2) return;
  const missed = [...hits].flatMap(([point, count]) => (count === 0 ? [`${point} was never hit`] : []));
  tally.check('every point was hit', missed);
}

async function askLater(scene: Scene, asked: Asked, ms: number): Promise<void> {
  await sleep(ms);
  await ask(scene, asked).catch(() => {});
}

/** Waits until some run has approximately reached a point. */
async function until(target: CutPoint, watch: Watch, scene: Scene, asked: readonly Asked[]): Promise<void> {
  const random = (least: number, most: number) => sleep(randomInt(least, most));
  switch (target) {
    case 'queued':
      return random(20, 130);
    case 'claimed':
    case 'search of the first step':
      return random(40, 160);
    case 'reserved':
    case 'call planned':
      return random(80, 320);
    case 'tool call':
      await watch.reached('answered', 0);
      return random(0, 25);
    case 'sent':
      return watch.reached('called', randomInt(0, 3));
    case 'first delta':
      return watch.reached('token', 2);
    case 'mid-delta':
      await watch.reached('token', 2);
      return random(5, 80);
    case 'cancel': {
      await watch.reached('token', 2);
      const known = asked.filter(({ runId, isCanceled }) => runId !== undefined && !isCanceled).slice(0, 4);
      for (const one of known) one.isCanceled = true;
      await Promise.all(
        known.map(({ runId }) => scene.client.send('POST', `/agent-runs/${runId}/cancel`, {}).catch(() => {})),
      );
      return random(0, 6);
    }
    default:
      await watch.reached('answered', 2);
      return random(0, 300);
  }
}

/** Records what the scripted server has seen of each run since the last kill. */
class Watch {
  private readonly turns = new Map<string, { turn: number; tokens: number; answered: boolean }>();
  private seeing = false;
  private waiting: { progress: string; turn: number; resolve: () => void } | undefined;

  /** Starts a new recording. `end` stops it once the system is dead. */
  begin(): void {
    this.turns.clear();
    this.seeing = true;
  }

  end(): void {
    this.seeing = false;
  }

  see(call: ReceivedCall, progress: 'called' | 'token' | 'answered'): void {
    if (!this.seeing) return;
    const name = nameIn(call);
    const turn = turnOf(call);
    if (progress === 'called') this.turns.set(name, { turn, tokens: 0, answered: false });
    const seen = this.turns.get(name);
    if (seen !== undefined && progress === 'token') seen.tokens++;
    if (seen !== undefined && progress === 'answered') seen.answered = true;
    if (this.waiting?.progress === progress && this.waiting.turn === turn) this.waiting.resolve();
  }

  /** Waits until a call of a turn has progressed to a point, for at most five seconds. */
  reached(progress: 'called' | 'token' | 'answered', turn: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 5_000);
      const done = () => {
        clearTimeout(timer);
        this.waiting = undefined;
        resolve();
      };
      this.waiting = { progress, turn, resolve: done };
    });
  }

  of(name: string) {
    return this.turns.get(name);
  }

  refused({ model }: Scene): string[] {
    return model.calls.flatMap(({ status }) => (status >= 400 ? [`a call was refused with ${status}`] : []));
  }
}

const nameIn = ({ request }: ReceivedCall): string => /piece-\d{6}/.exec(JSON.stringify(request.messages))?.[0] ?? '';
const turnOf = ({ request }: ReceivedCall): number =>
  request.messages.filter((message) => 'tool_calls' in message).length;

/**
 * Returns the point at which a run was when its process was killed, from the stored records and what the model has
 * seen.
 */
function pointOf(home: string, { runId, question }: Asked, watch: Watch): CutPoint | undefined {
  const run = readDocuments<StoredRun>(home, 'agents__runs').find(({ id }) => id === runId);
  if (run === undefined) return undefined;
  if (run.status === 'queued') return 'queued';
  if (run.status === 'canceling') return 'cancel';
  if (run.status !== 'running') return 'done';
  const steps = readDocuments<StoredStep>(home, 'agents__run_steps').filter((step) => step.runId === runId);
  const last = steps.sort((a, b) => a.seq - b.seq).at(-1);
  if (last === undefined) return 'claimed';
  const reserved = readDocuments<Reserved>(home, 'tenancy__credit_reservations').filter(
    ({ sourceId }) => sourceId === runId,
  );
  if (last.type === 'tool_call') {
    if (last.status === 'running') return last.toolCallId === undefined ? 'search of the first step' : 'tool call';
    return reserved.some(({ state }) => state === 'open') ? 'reserved' : 'tool call';
  }
  const isOpen = reserved.some(({ state, step }) => state === 'open' && step === String(last.seq));
  if (last.status === 'completed') return isOpen ? 'message commit' : 'settle';
  const seen = watch.of(/piece-\d{6}/.exec(question)?.[0] ?? '');
  const turn = steps.filter(({ type }) => type === 'message').length - 1;
  if (seen === undefined || seen.turn < turn) return 'call planned';
  if (seen.answered) return 'result';
  if (seen.tokens === 0) return 'sent';
  return seen.tokens === 1 ? 'first delta' : 'mid-delta';
}
