import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Person, signIn } from '@commonplace/acceptance/dist/src/people.js';
import { forEach } from '@commonplace/acceptance/dist/src/walk.js';
import type { Made } from '../../fill.js';
import type { Tally } from '../tally.js';
import { type Run, STUCK_MS, untilEnded } from './outcomes.js';
import { type Asked, openScene, type Scene } from './scene.js';

/** Number of runs that ask for approvals in each round. */
const RUNS = 8;
const WIDTH = 8;
const POLL_INTERVAL_MS = 50;
/** Maximum milliseconds between asking, deciding and the kill. */
const MAX_DELAY_MS = 250;
/** Moments of the kill: while approvals are created, while they are decided, and while runs resume. */
const POINTS = ['opening', 'deciding', 'resuming'] as const;

interface Owner {
  readonly email: string;
  readonly password: string;
}

interface Approval {
  readonly id: string;
  readonly status: string;
}

/** A run that asks to write one comment after another on its own page. */
interface AskedComments extends Asked {
  readonly pageId: string;
  readonly isApproved: boolean;
}

/**
 * Kills the system while runs ask for approval, are decided about, and resume. Checks that each approved call happens
 * once, and no other call happens.
 */
export async function soakApprovals(rounds: number, home: string, tally: Tally): Promise<void> {
  const scene = await openScene(home);
  const counts = { approved: 0, denied: 0, slowestMs: 0 };
  try {
    const agentId = await createAgent(scene);
    // API keys may not decide approvals, so a person signs in.
    const owner = JSON.parse(readFileSync(join(home, 'bootstrap.json'), 'utf8')) as Owner;
    const person = await signIn(scene.system, owner);
    for (let round = 0; round < rounds; round++) {
      const point = POINTS[round % POINTS.length] as (typeof POINTS)[number];
      const asked = await Promise.all(Array.from({ length: RUNS }, (_, i) => prepareComments(scene, round, i)));
      const sent = forEach(asked, WIDTH, (one) => begin(scene, agentId, one).catch(() => {}));
      if (point !== 'opening') await sent;
      const deciding = point === 'opening' ? undefined : decideAll(scene, person, asked).catch(() => {});
      if (point === 'resuming') await deciding;
      await sleep(randomInt(MAX_DELAY_MS));
      await scene.crash(async () => {
        await Promise.all([sent, deciding]);
      });
      const started = performance.now();
      await forEach(asked, WIDTH, (one) => begin(scene, agentId, one));
      await decideAll(scene, person, asked);
      const runs = await untilEnded(scene.client, asked);
      counts.slowestMs = Math.max(counts.slowestMs, performance.now() - started);
      tally.check('runs that ask: every approved call happens once', await commentFaults(scene, asked, runs));
      counts.approved += asked.filter(({ isApproved }) => isApproved).length;
      counts.denied += asked.filter(({ isApproved }) => !isApproved).length;
    }
  } finally {
    await scene.stop();
  }
  console.log(
    `\n${rounds} kills of ${RUNS} runs that ask: ${counts.approved} calls approved, ${counts.denied} denied; ` +
      `the last run ended ${Math.round(counts.slowestMs)} ms after the start (limit ${STUCK_MS})`,
  );
}

async function createAgent({ client, workspaceId }: Scene): Promise<string> {
  const policy = { mode: 'always' };
  const { id } = await client.ask<Made>('POST', '/agents', {
    ...{ name: 'Commenter', tools: ['comment'], approval_policy: policy },
  });
  await client.ask('PUT', `/agents/${id}/workspaces`, { workspaces: [{ workspace_id: workspaceId, role: 'editor' }] });
  return id;
}

async function prepareComments(scene: Scene, round: number, i: number): Promise<AskedComments> {
  const { client, workspaceId, model } = scene;
  const name = `comment-${String(round).padStart(3, '0')}-${i}`;
  const page = { workspace_id: workspaceId, type: 'document', name, content: 'Words.' };
  const { id: pageId } = await client.ask<Made>('POST', '/resources', page);
  const call = { id: name, name: 'comment', arguments: { resource_id: pageId, body: name } };
  model.script({ match: `Play ${name}.`, by: 'turn', replies: [{ toolCalls: [call] }, { text: 'Done.' }] });
  const plan = { turns: 1, callsPerTurn: 1, words: 1, firstMs: 0, gapMs: 0 };
  const isApproved = i % 4 !== 3;
  return { name, question: `Play ${name}.`, text: 'Done.', plan, kind: 'run', askedAt: 0, pageId, isApproved };
}

/** Starts a run. Repeating the request has no further effect. */
async function begin({ client, workspaceId }: Scene, agentId: string, asked: AskedComments): Promise<void> {
  const body = { input: asked.question, workspace_id: workspaceId, agent_id: agentId };
  const { status, text } = await client.send('POST', '/agent-runs', body, { 'idempotency-key': asked.name });
  if (status !== 201) throw new Error(`POST /agent-runs answers ${status}: ${text.slice(0, 300)}`);
  asked.runId = (JSON.parse(text) as { data: Made }).data.id;
}

/** Decides what runs ask for, until each of them has asked and resumed. */
async function decideAll({ client }: Scene, person: Person, asked: readonly AskedComments[]): Promise<void> {
  await forEach(asked, WIDTH, async ({ runId = '', isApproved }) => {
    const until = performance.now() + STUCK_MS;
    while (performance.now() < until) {
      const { status } = await client.ask<Run>('GET', `/agent-runs/${runId}`);
      if (!['queued', 'running', 'awaiting_approval'].includes(status)) return;
      const { items } = await client.ask<{ items: Approval[] }>('GET', `/agent-approvals?run_id=${runId}`);
      for (const approval of items.filter((one) => one.status === 'pending')) {
        const decision = { status: isApproved ? 'approved' : 'denied' };
        const answer = await person.patch(`/agent-approvals/${approval.id}`, decision);
        if (answer.status !== 200 && answer.status !== 409) throw new Error(`it answers ${answer.status}`);
      }
      if (items.length > 0 && items.every((one) => one.status !== 'pending')) return;
      await sleep(POLL_INTERVAL_MS);
    }
  });
}

async function commentFaults(
  { client }: Scene,
  asked: readonly AskedComments[],
  runs: ReadonlyMap<string, Run>,
): Promise<string[]> {
  const faults = await forEach(asked, WIDTH, async ({ name, runId = '', pageId, isApproved }) => {
    const run = runs.get(runId);
    const { items } = await client.ask<{ items: { body: string }[] }>('GET', `/resources/${pageId}/comments`);
    const expected = isApproved ? 1 : 0;
    return [
      ...(run?.status === 'completed' ? [] : [`${name} is ${run?.status}: ${run?.error?.message}`]),
      ...(items.length === expected ? [] : [`${name} has ${items.length} comments, not ${expected}`]),
    ];
  });
  return faults.flat();
}
