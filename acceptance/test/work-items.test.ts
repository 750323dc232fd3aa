import { beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { type Person, signUp } from '../src/people.js';
import { standingSystem } from '../src/standing.js';

/** Tests work items from a client's side, with all services. */

interface WorkItem {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly status: string;
  readonly parent_id: string | null;
  readonly child_count: number;
  readonly position: string;
  readonly version: number;
  readonly labels: readonly string[];
  readonly due_at: string | null;
  readonly completed_at: string | null;
  readonly assignee: { readonly type: string; readonly id: string; readonly name: string } | null;
  readonly resource_ids: readonly string[];
  readonly run_ids: readonly string[];
  readonly children?: readonly WorkItem[];
  readonly activity?: readonly { readonly type: string; readonly changes: readonly object[] }[];
}

let boss: Person;
let mate: Person;
let workspaceId: string;

beforeAll(async () => {
  const system = await standingSystem();
  [boss, mate] = [await signUp(system, 'Boss'), await signUp(system, 'Mate')];
  workspaceId = (await boss.post<{ id: string }>('/workspaces', { name: 'Work' })).data.id;
  await boss.post(`/workspaces/${workspaceId}/members`, { user_id: mate.user.id, role: 'viewer' });
}, 180_000);

const create = async (fields: object = {}): Promise<WorkItem> =>
  (await boss.post<WorkItem>('/work-items', { workspace_id: workspaceId, title: 'A task', ...fields })).data;
const get = async (id: string, query = ''): Promise<WorkItem> =>
  (await boss.get<WorkItem>(`/work-items/${id}${query}`)).data;

describe('a work item', () => {
  test('has a number, an entity tag, and a history of changes', async () => {
    const first = await create({ title: 'First', labels: ['docs'], due_at: '2030-05-01T12:00:00Z' });
    const second = await create({ title: 'Second' });
    expect(second.number).toBeGreaterThan(first.number);
    expect(first).toMatchObject({ status: 'todo', version: 1, labels: ['docs'], due_at: '2030-05-01T12:00:00.000Z' });
    const path = `/work-items/${first.id}`;
    const changed = await boss.patch<WorkItem>(path, { status: 'done', due_at: null, base_version: 1 });
    expect(changed.data).toMatchObject({ status: 'done', due_at: null, version: 2 });
    expect(changed.data.completed_at).not.toBeNull();
    const stale = await boss.patch(path, { title: 'Too late', base_version: 1 });
    expect([stale.status, stale.error.code]).toEqual([409, 'version_conflict']);
    const { activity = [] } = await get(first.id, '?include=activity');
    expect(activity.map(({ type }) => type)).toEqual(['updated', 'created']);
    expect(activity[0]?.changes).toEqual(
      expect.arrayContaining([{ field: 'status', from: 'todo', to: 'done' }, expect.objectContaining({ to: null })]),
    );
    expect((await boss.patch(path, {})).error.code).toBe('no_update_field');
  });

  test('is in a tree, in an order that clients change', async () => {
    const parent = await create({ title: 'Parent' });
    const [a, b] = [
      await create({ title: 'a', parent_id: parent.id }),
      await create({ title: 'b', parent_id: parent.id }),
    ];
    await boss.patch(`/work-items/${b.id}`, { before_id: a.id });
    const shown = await get(parent.id, '?include=children');
    expect(shown.children?.map(({ title }) => title)).toEqual(['b', 'a']);
    expect(shown.child_count).toBe(2);
    const circle = await boss.patch(`/work-items/${parent.id}`, { parent_id: a.id });
    expect([circle.status, circle.error.code]).toEqual([409, 'cycle_detected']);
    const early = await boss.patch(`/work-items/${parent.id}`, { status: 'done' });
    expect([early.status, early.error.code]).toEqual([409, 'open_children']);
    expect((await boss.patch(`/work-items/${parent.id}`, { status: 'done', force: true })).status).toBe(200);
    expect((await boss.del(`/work-items/${parent.id}`)).status).toBe(200);
    expect((await get(a.id)).parent_id).toBeNull();
    const root = await create();
    await boss.patch(`/work-items/${a.id}`, { parent_id: root.id });
    await boss.del(`/work-items/${root.id}?delete_children=true`);
    await eventually(async () => expect((await boss.get(`/work-items/${a.id}`)).status).toBe(404));
  });

  test('is created once for each idempotency key, also by concurrent requests', async () => {
    const options = { headers: { 'Idempotency-Key': `once-${Date.now()}` } };
    const body = { workspace_id: workspaceId, title: 'Once only' };
    const send = () => boss.send<WorkItem>('POST', '/work-items', body, options);
    const all = await Promise.all([send(), send(), send()]);
    const ids = new Set(all.filter(({ status }) => status === 201).map(({ data }) => data.id));
    expect(ids.size).toBe(1);
    expect((await send()).data.id).toBe([...ids][0]);
  });

  test('refers to resources of its workspace', async () => {
    const body = { workspace_id: workspaceId, type: 'document', name: 'Notes' };
    const { id } = (await boss.post<{ id: string }>('/resources', body)).data;
    expect((await create({ resource_ids: [id] })).resource_ids).toEqual([id]);
    const own = (await mate.post<{ id: string }>('/resources', { type: 'document', name: 'Own' })).data.id;
    const wrong = await boss.post('/work-items', { workspace_id: workspaceId, title: 'x', resource_ids: [own] });
    expect([wrong.status, wrong.error.param]).toEqual([404, 'resource_ids[0]']);
  });
});

test('has the same limits when it is changed as when it is created', async () => {
  const { id } = await create();
  const faultOf = async (fields: object) => {
    const { status, error } = await boss.patch(`/work-items/${id}`, fields);
    return [status, error.code, error.param];
  };
  const labels = Array.from({ length: 51 }, (_, n) => `label ${n}`);
  expect(await faultOf({ labels })).toEqual([400, 'too_many_items', 'labels']);
  expect(await faultOf({ labels: ['', 'x'] })).toEqual([400, 'invalid_value', 'labels[0]']);
  expect(await faultOf({ labels: ['x'.repeat(65)] })).toEqual([400, 'invalid_value', 'labels[0]']);
  expect(await faultOf({ resource_ids: ['x'] })).toEqual([400, 'invalid_value', 'resource_ids[0]']);
  expect(await get(id)).toMatchObject({ labels: [], version: 1 });
});

test('a run that a person starts for a work item is one of its runs', async () => {
  const { id } = await create({ title: 'To be found out' });
  const request = { input: 'What is this workspace for?', work_item_id: id };
  const run = (await boss.post<{ id: string; workspace_id: string; work_item_id: string }>('/agent-runs', request))
    .data;
  expect(run).toMatchObject({ workspace_id: workspaceId, work_item_id: id });
  await eventually(async () => expect((await get(id, '?include=runs')).run_ids).toEqual([run.id]));
  const stranger = await signUp(await standingSystem(), 'Stranger');
  const unseen = await stranger.post('/agent-runs', request);
  expect([unseen.status, unseen.error.code]).toEqual([404, 'not_found']);
  const other = (await boss.post<{ id: string }>('/workspaces', { name: 'Other' })).data.id;
  const elsewhere = await boss.post('/agent-runs', { ...request, workspace_id: other });
  expect([elsewhere.status, elsewhere.error.param]).toEqual([404, 'work_item_id']);
});

describe('an assignment', () => {
  test('lets a viewer change the work item, but no other', async () => {
    const item = await create({ title: 'For you', assignee: { type: 'user', id: mate.user.id } });
    expect(item.assignee).toMatchObject({ type: 'user', id: mate.user.id });
    expect((await mate.patch(`/work-items/${item.id}`, { status: 'in_progress' })).status).toBe(200);
    const other = await create();
    expect((await mate.patch(`/work-items/${other.id}`, { status: 'done' })).error.code).toBe('insufficient_role');
    const mine = await mate.get<{ items: WorkItem[] }>('/work-items?assignee_id=me');
    expect(mine.data.items.map(({ id }) => id)).toEqual([item.id]);
  });

  test('is possible only to people of the workspace and agents of the caller', async () => {
    const system = await standingSystem();
    const stranger = await signUp(system, 'Stranger');
    const body = { workspace_id: workspaceId, title: 'x', assignee: { type: 'user', id: stranger.user.id } };
    expect((await boss.post('/work-items', body)).error.code).toBe('not_found');
    const theirs = (await stranger.post<{ id: string }>('/agents', { name: 'Theirs' })).data.id;
    const foreign = { ...body, assignee: { type: 'agent', id: theirs } };
    expect((await boss.post('/work-items', foreign)).error.code).toBe('not_found');
    const own = (await boss.post<{ id: string }>('/agents', { name: 'Helper' })).data.id;
    const unassigned = await create({ title: 'x' });
    for (const [part, param] of [
      [{ type: 'user' }, 'assignee.id'],
      [{ id: mate.user.id }, 'assignee.type'],
    ] as const) {
      const { status, error } = await boss.patch(`/work-items/${unassigned.id}`, { assignee: part });
      expect([status, error.code, error.param]).toEqual([400, 'missing_field', param]);
    }
    const item = await create({ assignee: { type: 'agent', id: own } });
    expect(item.assignee).toEqual({ type: 'agent', id: own, name: 'Helper' });
    expect(await get(item.id, '?include=runs,children')).toMatchObject({ run_ids: [], runs: [], children: [] });
  });
});

describe('a list', () => {
  test('filters, sorts and pages', async () => {
    const word = `zebra${Date.now()}`;
    const made: WorkItem[] = [];
    for (const [n, priority] of ['low', 'urgent', 'none', 'high', 'medium'].entries()) {
      made.push(await create({ title: `${word} ${n}`, priority, labels: n > 2 ? [word] : [] }));
    }
    const list = async (query: string) =>
      (await boss.get<{ items: WorkItem[] }>(`/work-items?workspace_id=${workspaceId}&${query}`)).data.items;
    expect((await list(`q=${word}&sort=-priority`)).map(({ title }) => title.at(-1))).toEqual([
      '1',
      '3',
      '4',
      '0',
      '2',
    ]);
    expect((await list(`label=${word}&sort=number`)).map(({ id }) => id)).toEqual(made.slice(3).map(({ id }) => id));
    expect((await list(`q=%23${made[0]?.number}`)).map(({ id }) => id)).toEqual([made[0]?.id]);
    expect(await list(`q=${word}&status=done`)).toEqual([]);
    const ids: string[] = [];
    for (let more = ''; more !== 'none'; ) {
      const { data, page } = await boss.get<{ items: WorkItem[] }>(`/work-items?q=${word}&sort=number&limit=2${more}`);
      ids.push(...data.items.map(({ id }) => id));
      more = page.next_cursor === null ? 'none' : `&cursor=${page.next_cursor}`;
    }
    expect(ids).toEqual(made.map(({ id }) => id));
  });

  test('concurrent creations get distinct numbers', async () => {
    const all = await Promise.all(Array.from({ length: 25 }, () => create()));
    expect(new Set(all.map(({ number }) => number)).size).toBe(25);
  });
});
