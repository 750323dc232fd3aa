import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Api } from '../src/client.js';
import { type Feed, openFeed } from '../src/event-feed.js';
import { eventually } from '../src/eventually.js';
import { newForm, type TableContent, tableOf } from '../src/forms.js';
import { type Person, signUp } from '../src/people.js';
import type { Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

/** Tests triggers of automations, and the events about them, with all services. */

interface Run {
  readonly id: string;
  readonly status: string;
  readonly skip_reason: string | null;
  readonly chain: readonly string[];
  readonly trigger: { readonly type: string; readonly event_id: string; readonly by: { readonly id: string } };
  readonly input: { readonly event: { readonly type: string; readonly data: Record<string, unknown> } } | null;
}

let system: System;
let ann: Person;
let ben: Person;
let workspace: Workspace;
const feeds: Feed[] = [];

beforeAll(async () => {
  system = await standingSystem();
  [ann, ben] = [await signUp(system, 'Ann Author'), await signUp(system, 'Ben Reader')];
  workspace = (await ann.post<Workspace>('/workspaces', { name: 'Automated' })).data;
  await ann.post(`/workspaces/${workspace.id}/members`, { user_id: ben.user.id, role: 'viewer' });
}, 90_000);

afterEach(async () => {
  for (const feed of feeds.splice(0)) await feed.close();
});

const COLUMNS = [
  { id: 'name', name: 'Name', type: 'text' },
  { id: 'stage', name: 'Stage', type: 'text' },
];

async function newTable(name: string, rows: readonly object[] = []): Promise<Resource> {
  const body = { workspace_id: workspace.id, type: 'table', name, columns: COLUMNS, rows };
  const { data, status, text } = await ann.post<Resource>('/resources', body);
  if (status !== 201) throw new Error(text);
  return data;
}

async function automate(trigger: object, actions: readonly object[], more: object = {}): Promise<string> {
  const body = { name: 'Automation', workspace_id: workspace.id, trigger, actions, ...more };
  const { data, status, text } = await ann.post<{ id: string }>('/automations', body);
  if (status !== 201) throw new Error(text);
  return data.id;
}

const runsOf = async (id: string, by: Api = ann): Promise<readonly Run[]> =>
  (await by.get<{ items: Run[] }>(`/automations/${id}/runs?limit=100`)).data.items;

/** Waits until an automation has a number of completed runs. */
const ended = (id: string, count: number): Promise<readonly Run[]> =>
  eventually(async () => {
    const runs = await runsOf(id);
    expect(runs.map(({ status }) => status).filter((status) => !LIVE.has(status))).toHaveLength(count);
    return runs;
  }, 60_000);

const LIVE = new Set(['queued', 'running', 'waiting']);

const rowsOf = async (table: Resource): Promise<TableContent['rows']> => (await tableOf(ann, table.id)).rows;

const write = (table: Resource, rows: readonly object[]) =>
  ann.patch(`/resources/${table.id}/content`, { mode: 'upsert', rows });

describe('a row', () => {
  test('that changes in a column starts the automation with that trigger once', async () => {
    const table = await newTable('Leads', [{ id: 'r1', cells: { name: 'Acme', stage: 'new' } }]);
    const log = await newTable('Log');
    const config = { table_id: table.id, columns: ['stage'] };
    const id = await automate({ type: 'row_updated', config }, [
      { type: 'append_rows', config: { table_id: log.id, rows: [{ cells: { name: '{{trigger.row.cells.Name}}' } }] } },
    ]);
    await write(table, [{ id: 'r1', cells: { name: 'Acme Inc' } }]);
    await write(table, [{ id: 'r1', cells: { stage: 'won' } }]);
    const [run] = await ended(id, 1);
    expect(run).toMatchObject({ status: 'completed', trigger: { type: 'row_updated', by: { id: ann.user.id } } });
    const data = { table_id: table.id, row_ids: ['r1'], changed_fields: ['stage'] };
    expect(run?.input?.event).toMatchObject({ type: 'row.updated', data });
    expect((await rowsOf(log)).map(({ cells }) => cells.name)).toEqual(['Acme Inc']);
  }, 90_000);

  test.each(['stage', 'Stage'])(
    'conditions check whether the cell %s has changed, and to what',
    async (column) => {
      const table = await newTable('Deals', [{ id: 'r1', cells: { name: 'Acme', stage: 'new' } }]);
      const id = await automate(
        { type: 'row_updated', config: { table_id: table.id } },
        [{ type: 'stop', config: {} }],
        {
          conditions: [{ path: `trigger.row.cells.${column}`, op: 'changed_to', value: 'won' }],
        },
      );
      const changes = [{ stage: 'old' }, { stage: 'won' }, { name: 'Other' }];
      // A run reads the row when it starts, so each change waits for the run of the one before.
      for (const [i, cells] of changes.entries()) {
        await write(table, [{ id: 'r1', cells }]);
        await ended(id, i + 1);
      }
      const runs = await runsOf(id);
      const reasons = runs.map(({ status, skip_reason }) => skip_reason ?? status).sort();
      expect(reasons).toEqual(['completed', 'conditions_not_met', 'conditions_not_met']);
    },
    90_000,
  );
});

test('rows that an action adds can be changed by the next one', async () => {
  const table = await newTable('Log');
  const id = await automate({ type: 'manual', config: {} }, [
    { id: 'add', type: 'append_rows', config: { table_id: table.id, rows: [{ name: 'a' }, ['b']] } },
    {
      type: 'update_row',
      config: { table_id: table.id, row_id: '{{steps.add.output.row_ids[1]}}', cells: { stage: 'new' } },
    },
  ]);
  await ann.post(`/automations/${id}/run`, {});
  expect((await ended(id, 1)).map(({ status }) => status)).toEqual(['completed']);
  const rows = await rowsOf(table);
  expect(rows.map(({ cells }) => [cells.name, cells.stage ?? null])).toEqual([
    ['a', null],
    ['b', 'new'],
  ]);
}, 90_000);

test('two automations that start each other stop, and report why', async () => {
  const [one, two] = [await newTable('One'), await newTable('Two')];
  const copyTo = (table: Resource) => [
    { type: 'append_rows', config: { table_id: table.id, rows: [{ cells: { name: '{{trigger.row.cells.name}}' } }] } },
  ];
  const first = await automate({ type: 'row_created', config: { table_id: one.id } }, copyTo(two));
  const second = await automate({ type: 'row_created', config: { table_id: two.id } }, copyTo(one));
  await ann.patch(`/resources/${one.id}/content`, { mode: 'append', rows: [{ cells: { name: 'ping' } }] });
  const runs = await ended(first, 2);
  expect(runs.map(({ status, skip_reason }) => skip_reason ?? status).sort()).toEqual(['completed', 'loop']);
  expect(runs.find(({ status }) => status === 'skipped')?.chain).toEqual([first, second]);
  expect((await ended(second, 1))[0]).toMatchObject({ status: 'completed', chain: [first] });
  expect(await rowsOf(one)).toHaveLength(2);
  expect(await rowsOf(two)).toHaveLength(1);
}, 90_000);

test('a form starts an automation with the values, and the person is notified', async () => {
  const { form } = await newForm(ann, workspace.id);
  const config = { user_ids: [ann.user.id], title: 'Response by {{trigger.form.values.name | default: "somebody"}}' };
  const id = await automate({ type: 'form_submission', config: { form_id: form.id } }, [{ type: 'notify', config }]);
  await ann.post(`/forms/${form.token}/submit`, { values: { name: 'Grace' } });
  expect((await ended(id, 1))[0]).toMatchObject({ status: 'completed', trigger: { type: 'form_submission' } });
  await eventually(async () => {
    const { items } = (await ann.get<{ items: { type: string; title: string }[] }>('/notifications')).data;
    expect(items).toContainEqual(expect.objectContaining({ type: 'automation_notice', title: 'Response by Grace' }));
  }, 30_000);
}, 90_000);

test('resources of a trigger must be in its workspace', async () => {
  const { form, resource: table } = await newForm(ann, workspace.id);
  const other = (await ann.post<Workspace>('/workspaces', { name: 'Other' })).data;
  const foreign = await newForm(ann, other.id);
  const newTag = async (place: Workspace) =>
    (await ann.post<{ id: string }>(`/workspaces/${place.id}/tags`, { operation: 'create', name: 'urgent' })).data.id;
  const [tag, foreignTag] = [await newTag(workspace), await newTag(other)];
  const submitted = (form_id: string) => ({ type: 'form_submission', config: { form_id } });
  const tagged = (tag_id: string) => ({ type: 'event', config: { types: ['resource.updated'], tag_id } });
  const stop = [{ type: 'stop', config: {} }];
  for (const trigger of [submitted(form.id), submitted(table.id), tagged(tag)]) await automate(trigger, stop);
  const missing = crypto.randomUUID();
  for (const trigger of [submitted(foreign.form.id), submitted(missing), tagged(foreignTag), tagged(missing)]) {
    const body = { name: 'Automation', workspace_id: workspace.id, trigger, actions: stop };
    const { status, error } = await ann.post('/automations', body);
    expect([status, error.code, error.param]).toEqual([
      ...[404, 'not_found'],
      `trigger.config.${trigger.type === 'event' ? 'tag_id' : 'form_id'}`,
    ]);
  }
});

test('an event of another workspace, or after the automation was disabled, starts nothing', async () => {
  const id = await automate({ type: 'event', config: { types: ['resource.updated'] } }, [{ type: 'stop', config: {} }]);
  const page = { workspace_id: workspace.id, type: 'document', name: 'Page' };
  const other = (await ann.post<Workspace>('/workspaces', { name: 'Other' })).data;
  const away = (await ann.post<Resource>('/resources', { ...page, workspace_id: other.id })).data;
  const here = (await ann.post<Resource>('/resources', page)).data;
  await ann.patch(`/resources/${away.id}`, { name: 'Changed' });
  await ann.patch(`/resources/${here.id}`, { name: 'Changed' });
  const [run] = await ended(id, 1);
  expect(run?.input?.event.data).toMatchObject({ resource_ids: [here.id], changed_fields: ['name'] });
  await ann.patch(`/automations/${id}`, { is_active: false });
  await ann.patch(`/resources/${here.id}`, { name: 'Changed again' });
  const last = await automate({ type: 'event', config: { types: ['resource.updated'] } }, [
    { type: 'stop', config: {} },
  ]);
  await ann.patch(`/resources/${here.id}`, { name: 'Changed at last' });
  await eventually(async () => expect((await runsOf(last)).length).toBeGreaterThan(0), 60_000);
  expect(await runsOf(id)).toHaveLength(1);
}, 90_000);

describe('an automation that acts for whoever triggers it', () => {
  const lent = async (name: string) => {
    const eve = await signUp(system, name);
    const { data } = await ann.post<{ id: string }>(`/workspaces/${workspace.id}/members`, {
      ...{ user_id: eve.user.id, role: 'editor' },
    });
    const secret = (
      await ann.post<Resource>('/resources', {
        ...{ workspace_id: workspace.id, type: 'document', name: `Vault of ${name}`, access_mode: 'restricted' },
        content: 'The zanzibar code is 7351.',
      })
    ).data;
    const automateFor = async (actions: readonly object[]) => {
      const trigger = { type: 'event', config: { types: ['resource.created'], resource_type: 'folder' } };
      const body = { name: 'Lent', workspace_id: workspace.id, run_as: 'triggering_user', trigger, actions };
      const made = await eve.post<{ id: string }>('/automations', { ...body, retry: { max_attempts: 0 } });
      if (made.status !== 201) throw new Error(made.text);
      return made.data.id;
    };
    const cause = () => ann.post('/resources', { workspace_id: workspace.id, type: 'folder', name: 'Innocent' });
    const contentOf = async () => (await ann.get<{ content: string }>(`/resources/${secret.id}/content`)).data.content;
    return { eve, memberId: data.id, secret, automateFor, cause, contentOf };
  };
  const stepsOf = async (id: string) => {
    const [run] = await ended(id, 1);
    return (run as Run & { steps: { status: string; output: unknown; error: { code: string } | null }[] }).steps;
  };

  test('reaches only what its author may reach too', async () => {
    const { secret, automateFor, cause, contentOf } = await lent('Eve');
    const ids = [
      await automateFor([{ type: 'update_content', config: { resource_id: secret.id, content: 'Replaced.' } }]),
      await automateFor([{ type: 'comment', config: { resource_id: secret.id, body: 'Seen.' } }]),
    ];
    const searching = await automateFor([{ type: 'search', config: { query: 'zanzibar', mode: 'keyword' } }]);
    await eventually(async () => {
      const found = await ann.post<{ items: unknown[] }>('/search', {
        ...{ query: 'zanzibar', mode: 'keyword', workspace_ids: [workspace.id] },
      });
      expect(found.data.items).toHaveLength(1);
    });
    await cause();
    for (const id of ids) expect((await stepsOf(id)).map(({ error }) => error?.code)).toEqual(['not_found']);
    expect(await stepsOf(searching)).toMatchObject([{ status: 'completed', output: { items: [], total: 0 } }]);
    expect(await contentOf()).toContain('7351');
    for (const id of [...ids, searching]) await ann.del(`/automations/${id}`);
  }, 90_000);

  test('has no more than the role that its author has at that time', async () => {
    const { secret, memberId, automateFor, cause, contentOf } = await lent('Ida');
    await ann.patch(`/resources/${secret.id}`, { access_mode: 'inherit' });
    const id = await automateFor([
      { type: 'update_content', config: { resource_id: secret.id, content: 'Replaced.' } },
    ]);
    await ann.patch(`/workspaces/${workspace.id}/members/${memberId}`, { role: 'viewer' });
    await cause();
    expect((await stepsOf(id)).map(({ error }) => error?.code)).toEqual(['insufficient_role']);
    expect(await contentOf()).toContain('7351');
    await ann.del(`/automations/${id}`);
  }, 90_000);
});

test('streams report rows, work items and runs to people who may see them', async () => {
  const table = await newTable('Told', [{ id: 'r1', cells: { name: 'a' } }]);
  const secret = await newTable('Secret', [{ id: 's1', cells: { name: 'a' } }]);
  await ann.patch(`/resources/${secret.id}`, { access_mode: 'restricted' });
  const id = await automate({ type: 'row_created', config: { table_id: table.id } }, [{ type: 'stop', config: {} }]);
  const feed = await openFeed(system, ben.session, `?workspace_id=${workspace.id}`);
  feeds.push(feed);
  await write(secret, [{ id: 's1', cells: { name: 'b' } }]);
  await write(table, [{ id: 'r1', cells: { name: 'b' } }]);
  await ann.patch(`/resources/${table.id}/content`, { mode: 'append', rows: [{ cells: { name: 'c' } }] });
  await ann.patch(`/resources/${table.id}/content`, { mode: 'upsert', rows: [], delete_row_ids: ['r1'] });
  const item = (await ann.post<{ id: string }>('/work-items', { title: 'Told', workspace_id: workspace.id })).data;
  await ann.patch(`/work-items/${item.id}`, { status: 'done', assignee: { type: 'user', id: ben.user.id } });
  expect((await feed.sees('row.updated', 30_000)).data).toMatchObject({
    ...{ table_id: table.id, row_ids: ['r1'], changed_fields: ['name'] },
  });
  for (const type of ['row.created', 'row.deleted', 'work_item.created']) await feed.sees(type, 30_000);
  const changed = await feed.sees('work_item.updated', 30_000);
  expect(changed.data).toMatchObject({ work_item_id: item.id, changed_fields: expect.arrayContaining(['status']) });
  await eventually(() => {
    const finished = feed.events().filter(({ type }) => type === 'automation_run.finished');
    const expected = expect.objectContaining({ automation_id: id, status: 'completed' });
    expect(finished).toContainEqual(expect.objectContaining({ data: expected, chain: [id] }));
  }, 60_000);
  expect(JSON.stringify(feed.events())).not.toContain(secret.id);
  await eventually(async () => {
    const { items } = (await ben.get<{ items: { type: string }[] }>('/notifications')).data;
    expect(items.map(({ type }) => type)).toContain('work_item_assigned');
  }, 30_000);
}, 120_000);
