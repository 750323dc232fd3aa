import { AppError, Unavailable } from '@commonplace/kit/errors';
import { inWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { openAgentStage } from './stage.js';

test('a run outlasts an outage of a service that it needs', async () => {
  const it = await openAgentStage();
  try {
    const by = it.person('Ada');
    it.model.script({ replies: [{ text: 'Done.' }] });
    const agent = await it.createAgent();
    it.letAct(() => {
      throw Unavailable();
    });
    const { id } = await it.start(by, agent);
    const failed = await eventually(async () => {
      const run = await it.records.runs.get(id);
      expect(run).toMatchObject({ status: 'running', failures: expect.any(Number), lease: { holder: '' } });
      return run;
    });
    // As after many more attempts, which are up to ten seconds apart.
    await inWork(it.stage.own.store, async (work) => {
      const run = await work.get(it.records.runs, id);
      if (run !== undefined) work.replace(it.records.runs, run, { ...run, failures: 50, waits: 50 });
    });
    await eventually(async () => {
      const run = await it.records.runs.get(id);
      expect(run?.attempt).toBeGreaterThan(failed?.attempt ?? 0);
      expect(run).toMatchObject({ status: 'running', failures: 51 });
    }, 20_000);
    it.letAct(() => true);
    await it.until(by, id, 'completed');
  } finally {
    await it.close();
  }
}, 90_000);

test('a run goes on with a new token after one has expired', async () => {
  const it = await openAgentStage();
  try {
    const by = it.person('Ada');
    it.model.script({ replies: [{ text: 'Done.' }] });
    const agent = await it.createAgent();
    let refusals = 2;
    it.letAct(() => {
      if (refusals-- > 0) throw new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The peer token is not valid.');
      return true;
    });
    const { id } = await it.start(by, agent);
    await it.until(by, id, 'completed');
    expect(refusals).toBeLessThan(0);
  } finally {
    await it.close();
  }
}, 90_000);
