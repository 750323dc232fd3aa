import { randomInt, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type FormAnswer, newForm, type Submitted, tableOf } from '../src/forms.js';
import type { Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

let system: OwnSystem;

beforeAll(async () => {
  system = await startSystem();
}, 180_000);

afterAll(() => system?.stop());

const COLUMNS = [
  { id: 'name', name: 'Name', type: 'text' },
  { id: 'no', name: 'No', type: 'auto_number' },
];
const CONFIG = { title: 'Survey', fields: [{ id: 'name', type: 'short_text', label: 'Name', column_id: 'name' }] };
const DISTINCT = 100;

/** The outcome of a round: rows by acknowledged submission, and why the others were not acknowledged. */
interface Round {
  readonly acknowledged: Map<string, string>;
  readonly refused: string[];
}

/** Submits each id twice at the same time. */
async function handIn(by: Api, token: string | null, ids: readonly string[]): Promise<Round> {
  const acknowledged = new Map<string, string>();
  const asked = [...ids, ...ids]
    .map((id) => ({ id, at: randomInt(2 ** 32) }))
    .sort((a, b) => a.at - b.at)
    .map(({ id }) => id);
  const ends = await Promise.allSettled(
    asked.map(async (submission_id) => {
      const body = { values: { name: submission_id }, submission_id };
      const { data } = await by.post<Submitted>(`/forms/${token}/submit`, body);
      const before = acknowledged.get(data.submission_id);
      if (before !== undefined && before !== data.row_id) throw new Error(`${submission_id} has two rows`);
      acknowledged.set(data.submission_id, data.row_id);
    }),
  );
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
  return { acknowledged, refused };
}

test('a system that is killed during 200 submissions has each distinct one once, without a gap', async () => {
  const by = api(system, system.owner.apiKey);
  const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Heavy' });
  let cut = 0;
  for (const [round, wait] of [20, 60, 140].entries()) {
    const { form } = await newForm(by, workspace.id, CONFIG, COLUMNS);
    const ids = Array.from({ length: DISTINCT }, () => randomUUID());
    const first = handIn(by, form.token, ids);
    await new Promise((resolve) => setTimeout(resolve, wait));
    await system.kill();
    const { acknowledged } = await first;
    await system.restart();
    const survived = await tableOf(by, form.resource_id);
    // Acknowledged submissions are stored, and stored ones are counted and numbered from 1 on.
    const there = new Map(survived.rows.map(({ id, cells }) => [cells.name, id]));
    for (const [submissionId, rowId] of acknowledged)
      expect([submissionId, there.get(submissionId)]).toEqual([submissionId, rowId]);
    expect(survived.rows.map(({ cells }) => cells.no)).toEqual(survived.rows.map((_, i) => i + 1));
    const { data } = await by.get<FormAnswer>(`/resources/${form.resource_id}/form`);
    expect(data.form.submission_count).toBe(survived.row_count);
    if (survived.row_count < DISTINCT) cut++;

    const { acknowledged: again, refused } = await handIn(by, form.token, ids);
    expect([round, refused.slice(0, 3)]).toEqual([round, []]);
    for (const [submissionId, rowId] of acknowledged) expect(again.get(submissionId)).toBe(rowId);
    const { rows } = await tableOf(by, form.resource_id);
    expect(rows.map(({ cells }) => cells.name).sort()).toEqual([...ids].sort());
    expect(rows.map(({ cells }) => cells.no)).toEqual(ids.map((_, i) => i + 1));
    const after = await by.get<FormAnswer>(`/resources/${form.resource_id}/form`);
    expect(after.data.form.submission_count).toBe(DISTINCT);
  }
  // At least one of them was interrupted.
  expect(cut).toBeGreaterThan(0);
}, 240_000);

test('a system that is killed while submissions store their files has only the files of rows', async () => {
  const by = api(system, system.owner.apiKey);
  const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Papers' });
  const papers = { id: 'papers', type: 'file', label: 'Papers', column_id: 'papers', max_files: 5 };
  const { form } = await newForm(by, workspace.id, { ...CONFIG, fields: [...CONFIG.fields, papers] }, [
    ...COLUMNS,
    { id: 'papers', name: 'Papers', type: 'attachment' },
  ]);
  const file = { name: 'paper.txt', content_base64: Buffer.from('hello').toString('base64') };
  for (const wait of [150, 250, 350]) {
    const values = { name: 'Ada', papers: Array(5).fill(file) };
    const sent = Promise.allSettled(
      Array.from({ length: 10 }, () => by.post<Submitted>(`/forms/${form.token}/submit`, { values })),
    );
    await new Promise((resolve) => setTimeout(resolve, wait));
    await system.kill();
    await sent;
    await system.restart();
  }
  const { rows } = await tableOf(by, form.resource_id);
  const named = rows.flatMap(({ cells }) => cells.papers as string[]).sort();
  await eventually(async () => {
    const { data } = await by.get<{ items: Resource[] }>(`/workspaces/${workspace.id}/resources?type=file&limit=200`);
    expect(data.items.map(({ id }) => id).sort()).toEqual(named);
  });
}, 300_000);
