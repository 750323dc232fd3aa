import { randomInt } from 'node:crypto';
import {
  type Cuts,
  followWithCuts,
  type JoinedText,
  type Resumption,
} from '@commonplace/acceptance/dist/src/joined-text.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Tally } from '../tally.js';
import type { Run } from './outcomes.js';
import { type Asked, ask, openScene, prepare, type Scene } from './scene.js';

/** Number of concurrent runs. Below, number of clients that follow each. */
const RUNS = 6;
const FOLLOWERS = 3;
const PLAN = { turns: 1, callsPerTurn: 1, words: 250, firstMs: 20, gapMs: 15 };
/** Percentages of reconnections with an odd resumption: without an id, or with an old, foreign or invalid one. */
const ODD: readonly (readonly [Resumption, number])[] = [
  ['none', 10],
  ['old', 8],
  ['foreign', 4],
  ['garbage', 4],
];

/**
 * Cuts the connections of clients that follow runs. Compares the text that each of them has assembled with the stored
 * one.
 */
export async function soakStreams(count: number, home: string, tally: Tally): Promise<void> {
  const scene = await openScene(home);
  const counts = { cuts: 0, restarts: 0, followers: 0 };
  try {
    for (let round = 1; counts.cuts < count; round++) {
      const asked = Array.from({ length: RUNS }, (_, i) => prepare(scene.model, PLAN, i % 2 === 0 ? 'run' : 'chat'));
      await forEach(asked, RUNS, (one) => ask(scene, one));
      const following = asked.flatMap((one) => {
        return Array.from({ length: FOLLOWERS }, (_, i) => follow(scene, one, i, cutsOf(counts, count)));
      });
      // In every other round the worker dies as well, so that its texts start again.
      const killing = round % 2 === 0 ? kill(scene) : undefined;
      const joined = await Promise.all(following);
      await killing;
      tally.check('a text that was joined through cuts is the stored one', await textFaults(scene, asked, joined));
      counts.followers += joined.length;
      counts.restarts += joined.reduce((sum, { restarts }) => sum + restarts, 0);
    }
  } finally {
    await scene.stop();
  }
  console.log(`\n${counts.cuts} cuts of ${counts.followers} streams, ${counts.restarts} texts restarted`);
}

function cutsOf(counts: { cuts: number }, most: number): Cuts {
  return {
    next() {
      if (counts.cuts >= most) return undefined;
      counts.cuts++;
      return randomInt(5, 700);
    },
    resumption() {
      let dice = randomInt(100);
      for (const [resumption, share] of ODD) {
        if (dice < share) return resumption;
        dice -= share;
      }
      return 'last';
    },
  };
}

async function kill(scene: Scene): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, randomInt(500, 3_000)));
  await scene.crash();
}

/** Follows a run at one of the two addresses that stream it. */
function follow(scene: Scene, { runId }: Asked, number: number, cuts: Cuts): Promise<JoinedText> {
  const path = number % 2 === 0 ? `/agent-runs/${runId}` : `/agent-runs/${runId}/events`;
  return followWithCuts(
    (lastEventId, signal) =>
      fetch(`${scene.system.baseUrl}/api/v1${path}`, {
        signal,
        headers: {
          authorization: `Bearer ${scene.system.apiKey}`,
          accept: 'text/event-stream',
          ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        },
      }),
    cuts,
  );
}

async function textFaults(scene: Scene, asked: readonly Asked[], joined: readonly JoinedText[]): Promise<string[]> {
  const faults = await forEach(asked, RUNS, async ({ name, kind, runId, text }, i) => {
    const run = await scene.client.ask<Run>('GET', `/agent-runs/${runId}`);
    const stored = run.output?.text;
    const own = joined.slice(i * FOLLOWERS, (i + 1) * FOLLOWERS);
    return [
      ...(stored === text ? [] : [`the stored text is not what the model said: ${run.status} ${run.error?.code}`]),
      ...own.flatMap((one) => one.faults),
      ...own.flatMap(({ text, ended }) => (text === stored ? [] : [`another text after ${ended}`])),
    ].map((fault) => `${name} (${kind} ${runId}): ${fault}`);
  });
  return faults.flat();
}
