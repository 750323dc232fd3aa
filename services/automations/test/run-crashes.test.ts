import { AppError } from '@commonplace/kit/errors';
import { eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { StoredAction } from '../src/definitions/records.js';
import { lostAnswer, openRunStage, type RunStage } from './run-stage.js';

/** Every effect of a run happens once, wherever the run is interrupted. */

let stage: RunStage;

beforeAll(async () => {
  stage = await openRunStage();
}, 60_000);

afterAll(() => stage?.close());

const ROW = 'row-1';

/** Eight actions of different kinds, each of which changes something under the name of its run. */
const actionsOf = (name: string, tableId: string): Partial<StoredAction>[] => [
  { type: 'create_resource', config: { type: 'document', name } },
  { type: 'update_content', config: { resource_id: tableId, content: name } },
  { type: 'append_rows', config: { table_id: tableId, rows: [{ name }] } },
  { type: 'update_row', config: { table_id: tableId, row_id: ROW, cells: { name } } },
  { type: 'add_tag', config: { resource_id: tableId, name } },
  { type: 'comment', config: { resource_id: tableId, body: name } },
  { type: 'send_message', config: { conversation_id: tableId, text: name } },
  { type: 'create_work_item', config: { title: name } },
  { type: 'notify', config: { title: name, user_ids: [stage.owner.userId] } },
];

/** More commits than a run of these actions makes. */
const CUTS = 14;
const METHODS = [
  ...['createResource', 'replaceContent', 'addResourceTags', 'createComment', 'sendMessage', 'createWorkItem'],
];

test('each effect happens once, at whichever commit of the run its process crashes', async () => {
  const { owner, create, start, until, effects, faults, events, rows } = stage;
  rows.set(ROW, {});
  const cuts = Array.from({ length: CUTS }, (_, at) =>
    (['before', 'after'] as const).map((when) => ({ at, when })),
  ).flat();
  const counts = new Map<string, number>();
  const pending = new Map<string, (typeof cuts)[number]>();
  faults.atCommit = (ids, when) => {
    for (const id of ids) {
      const cut = pending.get(id);
      if (cut === undefined || cut.when !== when) continue;
      const count = counts.get(id) ?? 0;
      counts.set(id, count + 1);
      if (count !== cut.at) continue;
      pending.delete(id);
      throw new Error(`cut ${when} commit ${cut.at}`);
    }
  };
  const runs = [];
  for (const cut of cuts) {
    const name = `cut-${cut.when}-${cut.at}`;
    const automation = await create(actionsOf(name, crypto.randomUUID()));
    pending.set(automation.id, cut);
    runs.push({ name, run: await start(owner, automation.id) });
  }
  for (const { name, run } of runs) {
    const ended = await until(owner, run, 'completed');
    expect(ended.steps.map(({ status }) => status.split('_').at(-1))).toEqual(Array(9).fill('COMPLETED'));
    const made = effects.filter(({ of }) => of.includes(`"${name}"`) || of === name);
    expect(made.map(({ what }) => what)).toEqual([
      ...['create_resource', 'CONTENT_MODE_APPEND', 'CONTENT_MODE_UPSERT', 'add_tag', 'comment', 'send_message'],
      'create_work_item',
    ]);
    // Events arrive after the commit that the run's end was read from.
    await eventually(() => {
      const notifications = events.filter(
        ({ type, data }) => type.endsWith('notification.requested') && data.title === name,
      );
      expect(notifications).toHaveLength(1);
      const finished = events.filter(({ type, subject }) => type.includes('automation_run.') && subject === run.id);
      expect(finished).toHaveLength(1);
    });
  }
  faults.atCommit = () => {};
  // Fewer than so many commits would mean that a part of the points was never tried.
  expect([...pending.values()].every(({ at }) => at >= 11)).toBe(true);
}, 120_000);

test('an action whose token has expired during the call is retried', async () => {
  const { owner, create, start, until, effects, faults } = stage;
  let count = 0;
  faults.answered = (method) => {
    if (method !== 'createComment' || count++ > 0) return;
    throw new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The caller token is not valid.');
  };
  const automation = await create([{ type: 'comment', config: { resource_id: crypto.randomUUID(), body: 'expired' } }]);
  const run = await until(owner, await start(owner, automation.id), 'completed');
  faults.answered = () => {};
  expect(run.steps.map(({ attempt }) => attempt)).toEqual([2]);
  expect(effects.filter(({ of }) => of === 'expired' || of.includes('"expired"'))).toHaveLength(1);
}, 60_000);

test('an effect whose response was lost is not repeated', async () => {
  const { owner, create, start, until, effects, faults } = stage;
  const lost = new Set<string>();
  faults.answered = (method) => {
    if (!METHODS.includes(method) || lost.has(method)) return;
    lost.add(method);
    lostAnswer();
  };
  const name = 'lost';
  const automation = await create(actionsOf(name, crypto.randomUUID()));
  const run = await until(owner, await start(owner, automation.id), 'completed');
  faults.answered = () => {};
  expect(lost.size).toBe(METHODS.length);
  expect(run.steps.filter(({ attempt }) => attempt === 2)).toHaveLength(METHODS.length);
  const made = effects.filter(({ of }) => of.includes(`"${name}"`) || of === name);
  expect(made).toHaveLength(7);
}, 60_000);
