import { newId } from '@commonplace/kit/id';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunRecord } from '../src/stores/runs.js';
import { type AgentStage, openAgentStage } from './stage.js';

/** More runs of one agent than one query reads. */
const MANY = 250;

let it: AgentStage;
beforeAll(async () => {
  it = await openAgentStage({ COMMONPLACE_RUNS_PER_AGENT: '2' });
}, 60_000);
afterAll(() => it?.close());

test('a run of one agent starts while hundreds of another one wait', async () => {
  const [busy, idle] = [await it.createAgent({ name: 'Busy' }), await it.createAgent({ name: 'Idle' })];
  it.model.script({ match: 'Never ends.', replies: [{ text: 'x', firstDelayMs: 600_000 }] });
  it.model.script({ match: 'Ends.', replies: [{ text: 'Done.' }] });
  const input = (text: string) => ({ input: Buffer.from(JSON.stringify(text)) });
  const { id } = await it.start(it.owner, busy, input('Never ends.'));
  await it.until(it.owner, id, 'running');
  await queueCopies(id);
  const later = await it.start(it.owner, idle, input('Ends.'));
  await it.until(it.owner, later.id, 'completed');
  expect(await it.records.runs.count({ lane: `agent:${busy.id}`, status: 'queued' })).toBeGreaterThan(MANY / 2);
}, 60_000);

/** Queues many copies of an earlier run, ahead of all runs that are started later. */
async function queueCopies(runId: string): Promise<void> {
  const { store } = it.stage.own;
  const work = store.begin();
  const { id: _, version: __, lease: ___, ...run } = (await it.records.runs.get(runId)) as RunRecord;
  const dueAt = new Date(Date.now() - 1_000).toISOString();
  for (let at = 0; at < MANY; at++) {
    work.insert(it.records.runs, { ...run, id: newId(), status: 'queued', startedAt: undefined, attempt: 0, dueAt });
  }
  await work.commit();
}
