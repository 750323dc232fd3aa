import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Tally } from '../tally.js';
import { ledgerFaults, reservationFaults } from './charges.js';
import { outcomeFaults, untilEnded } from './outcomes.js';
import { type Asked, ask, openScene, prepare, Refused, type Scene } from './scene.js';

const KILL_MS = 3_000;
/** Number of concurrent requests for runs. */
const WIDTH = 2;
/** Maximum pause in milliseconds between two requests of a client, so that the requests last for many kills. */
const MAX_PACE_MS = 1_000;
const PAUSE_MS = 50;
const MAX_KILLS = 100;

/** Kills the system every three seconds while runs are requested and executed, and checks their outcomes. */
export async function soakKills(count: number, home: string, tally: Tally): Promise<void> {
  const scene = await openScene(home);
  try {
    const asked = Array.from({ length: count }, (_, i) =>
      prepare(scene.model, anyPlan(), i % 2 === 0 ? 'run' : 'chat'),
    );
    const started = performance.now();
    let answered = 0;
    const asking = forEach(asked, WIDTH, async (one) => {
      await sleep(randomInt(MAX_PACE_MS));
      await requestUntilAnswered(scene, one);
      answered++;
    });
    let kills = 0;
    for (let ended = 0; (answered < count || ended < count) && kills < MAX_KILLS; kills++) {
      await sleep(KILL_MS);
      ended = await countEnded(scene);
      await scene.crash();
    }
    await asking;
    const readyAt = performance.now();
    const runs = await untilEnded(scene.client, asked);
    const restMs = performance.now() - readyAt;
    tally.check('runs under kills: every run ends as it must', await outcomeFaults(scene, asked, runs));
    tally.check('runs under kills: ledger, usage and runs agree', await ledgerFaults(scene.client, asked, runs));
    tally.check('runs under kills: each attempt at a step is charged once', reservationFaults(home, runs));
    const attempts = [...runs.values()].map(({ attempt }) => attempt).sort((a, b) => a - b);
    const calls = scene.model.calls.length;
    const needed = asked.reduce((sum, { plan }) => sum + plan.turns + 1, 0);
    console.log(
      `\n${count} runs and ${kills} kills, one every ${KILL_MS / 1000} s, in ${Math.round((performance.now() - started) / 1000)} s: ` +
        `taken up ${attempts.at(attempts.length >> 1)} times (median), ${attempts.at(-1)} at the most; ` +
        `${calls} calls of the model for ${needed} turns; the last ended ${Math.round(restMs)} ms after the last start`,
    );
  } finally {
    await scene.stop();
  }
}

function anyPlan() {
  const turns = randomInt(0, 4);
  return {
    turns,
    callsPerTurn: randomInt(1, 4),
    words: randomInt(5, 80),
    firstMs: randomInt(0, 60),
    gapMs: randomInt(0, 20),
  };
}

/** Requests a run until there is an answer. */
async function requestUntilAnswered(scene: Scene, asked: Asked): Promise<void> {
  for (;;) {
    try {
      return await ask(scene, asked);
    } catch (error) {
      if (error instanceof Refused && error.status < 500) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

async function countEnded({ client }: Scene): Promise<number> {
  const list = async (status: string) => {
    const { text } = await client.send('GET', `/agent-runs?limit=1&status=${status}`);
    return (JSON.parse(text) as { page: { total: number } }).page.total;
  };
  return list('completed').catch(() => 0);
}
