import type { Caller } from '@commonplace/kit/auth';
import {
  AssigneeType,
  WorkItemPriority as Priority,
  WorkItemStatus as Status,
  type WorkItem,
} from '@commonplace/proto/automations/v1/work_item.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { codeOf, newPlace, openWorkItemStage, type Place, type WorkItemStage } from './work-items-stage.js';

const SORTS = [
  ...['created_at', '-created_at', 'updated_at', '-updated_at', 'due_at', '-due_at', 'priority', '-priority'],
  ...['number', '-number', 'position'],
];
const PRIORITIES = [Priority.NONE, Priority.LOW, Priority.MEDIUM, Priority.HIGH, Priority.URGENT];
const STATUSES = [Status.BACKLOG, Status.TODO, Status.IN_PROGRESS, Status.DONE];

let stage: WorkItemStage;
let by: Caller;
let mate: Caller;
const places: [Place, Place] = [newPlace(), newPlace()];
const all: WorkItem[] = [];

beforeAll(async () => {
  stage = await openWorkItemStage();
  by = stage.person('Person');
  mate = stage.person('Mate');
  for (const place of places) for (const one of [by, mate]) stage.join(one, place);
  for (let n = 0; n < 60; n++) {
    const { workspaceId } = places[n % 2] as Place;
    const parent = n > 40 ? all.find((one) => one.workspaceId === workspaceId) : undefined;
    all.push(
      await stage.create(by, {
        ...{ workspaceId, title: `Task ${n % 7 === 0 ? 'fishing' : 'reading'} ${n}`, parentId: parent?.id },
        ...{ status: STATUSES[n % 4], priority: PRIORITIES[(n * 3) % 5], labels: n % 3 === 0 ? ['bug', '=x'] : [] },
        ...(n % 4 !== 0 && { dueAt: new Date(Date.UTC(2030, 0, 1 + ((n * 7) % 28))).toISOString() }),
        ...(n % 5 === 0 && { assignee: { type: AssigneeType.USER, id: mate.userId } }),
        ...(n === 13 && { description: '東京都の会議 and the Reports of Zoë' }),
      }),
    );
  }
});
afterAll(() => stage.close());

/** Returns the ids of a whole list, read in pages. */
async function walk(who: Caller, fields: object, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ; ) {
    const { items, page } = await stage.list(who, fields, { limit, cursor });
    ids.push(...items.map(({ id }) => id));
    expect(items.length).toBeLessThanOrEqual(limit);
    if (page?.nextCursor === undefined) return ids;
    cursor = page.nextCursor;
  }
}

/** Returns what a sort compares; undated work items come last in both directions. */
function keyOf(sort: string, item: WorkItem): string | number {
  const name = sort.replace('-', '');
  if (name === 'priority') return PRIORITIES.indexOf(item.priority);
  if (name === 'number') return item.number;
  if (name === 'position') return item.position;
  if (name === 'due_at') return item.dueAt ?? (sort.startsWith('-') ? '' : '~');
  return (name === 'created_at' ? item.createdAt : item.updatedAt) ?? '';
}

function sorted(sort: string, items: readonly WorkItem[]): string[] {
  const sign = sort.startsWith('-') ? -1 : 1;
  const compare = (a: string | number, b: string | number) => (a === b ? 0 : a < b ? -sign : sign);
  return [...items].sort((a, b) => compare(keyOf(sort, a), keyOf(sort, b)) || compare(a.id, b.id)).map(({ id }) => id);
}

describe('orders', () => {
  test.each(SORTS)('%s is total, over one workspace and over all, with cursors', async (sort) => {
    const [{ workspaceId }] = places;
    const mine = all.filter((one) => one.workspaceId === workspaceId);
    expect(await walk(by, { sort, workspaceId }, 7)).toEqual(sorted(sort, mine));
    expect(await walk(by, { sort }, 9)).toEqual(sorted(sort, all));
  });

  test.each(SORTS)('%s is read by an index', async (sort) => {
    const field = { created_at: 'createdAt', updated_at: 'updatedAt', due_at: 'dueKey', priority: 'rank' }[
      sort.replace('-', '')
    ];
    const name = sort === '-due_at' ? 'dueKeyDown' : (field ?? sort.replace('-', ''));
    const order = `${sort.startsWith('-') ? '-' : ''}${name}` as 'createdAt';
    const [one, other] = places;
    for (const workspaceId of [one.workspaceId, { in: [one.workspaceId, other.workspaceId] }]) {
      const where = { workspaceId, status: 'todo', rank: { in: [1, 2] } };
      const plan = await stage.records.items.explain({ where, sort: [order], limit: 51 });
      expect([plan.indexed, plan.plan]).toEqual([true, plan.plan]);
    }
  });

  test('a cursor of another order is refused', async () => {
    const { page } = await stage.list(by, { sort: 'number' }, { limit: 3 });
    const cursor = page?.nextCursor ?? '';
    expect(await codeOf(stage.list(by, { sort: 'position' }, { cursor }))).toBe('invalid_pagination');
  });

  test('more workspaces than one query merges are one list', async () => {
    const many = stage.person('Many');
    const created: WorkItem[] = [];
    for (let n = 0; n < 70; n++) {
      const place = newPlace();
      stage.join(many, place);
      if (n % 10 === 0) for (let k = 0; k < 3; k++) created.push(await stage.create(many, place));
    }
    expect(await walk(many, { sort: '-number' }, 4)).toEqual(sorted('-number', created));
    const { page, items } = await stage.list(many, { sort: 'number' }, { limit: 5, offset: 19 });
    expect(items.map(({ id }) => id)).toEqual(sorted('number', created).slice(19));
    expect([page?.total, page?.hasMore]).toEqual([21, false]);
  });
});

describe('filters', () => {
  const filters: readonly [string, object, (item: WorkItem) => boolean][] = [
    ['status', { status: [Status.TODO, Status.DONE] }, ({ status }) => [Status.TODO, Status.DONE].includes(status)],
    ['priority', { priority: [Priority.HIGH] }, ({ priority }) => priority === Priority.HIGH],
    ['label', { label: 'bug' }, ({ labels }) => labels.includes('bug')],
    ['label with a mark', { label: '=x' }, ({ labels }) => labels.includes('=x')],
    ['a word as label', { label: 'reading' }, () => false],
    ['a label as word', { q: '=bug' }, () => false],
    ['root', { parentId: 'root' }, ({ parentId }) => parentId === undefined],
    ['due before', { dueBefore: '2030-01-10T00:00:00.000Z' }, ({ dueAt = '~' }) => dueAt < '2030-01-10T00:00:00.000Z'],
    [
      'due after',
      { dueAfter: '2030-01-10T00:00:00.000Z' },
      ({ dueAt }) => dueAt !== undefined && dueAt > '2030-01-10T00:00:00.000Z',
    ],
    ['words in any form', { q: 'fished task' }, ({ title }) => title.includes('fishing')],
    ['several words', { q: 'READING 13' }, ({ title }) => title === 'Task reading 13'],
    ['words of the description', { q: 'report zoe' }, ({ description }) => description !== ''],
    ['characters of a script without spaces', { q: '京都' }, ({ description }) => description !== ''],
    ['one such character', { q: '議' }, ({ description }) => description !== ''],
    ['a number', { q: '#12' }, ({ number }) => number === 12],
    ['no word', { q: '…!' }, () => false],
    [
      'several',
      { status: [Status.DONE], label: 'bug', q: 'reading' },
      (item) => item.status === Status.DONE && item.labels.includes('bug') && item.title.includes('reading'),
    ],
  ];

  test.each(filters)('%s', async (_, fields, matches) => {
    const expected = all.filter(matches);
    expect(await walk(by, { ...fields, sort: 'created_at' }, 8)).toEqual(sorted('created_at', expected));
    const { page } = await stage.list(by, fields);
    expect(page?.total).toBe(expected.length);
  });

  test('creator and times', async () => {
    const middle = all[30] as WorkItem;
    const at = middle.createdAt ?? '';
    const created = (isIn: (time: string) => boolean) =>
      sorted(
        'created_at',
        all.filter(({ createdAt = '' }) => isIn(createdAt)),
      );
    const order = { sort: 'created_at' };
    expect(await walk(by, { createdAfter: at, ...order }, 50)).toEqual(created((time) => time > at));
    expect(await walk(by, { createdBefore: at, ...order }, 50)).toEqual(created((time) => time < at));
    expect(await walk(by, { createdBy: by.userId, updatedAfter: at, ...order }, 50)).toEqual(
      created((time) => time > at),
    );
    expect(await walk(by, { createdBy: mate.userId }, 50)).toEqual([]);
    expect(await walk(by, { updatedBefore: (all[0] as WorkItem).createdAt }, 50)).toEqual([]);
  });

  test('assignee, agent and parent', async () => {
    const theirs = all.filter(({ assignee }) => assignee?.id === mate.userId);
    expect(await walk(by, { assigneeId: mate.userId }, 50)).toEqual(sorted('-created_at', theirs));
    expect(await walk(mate, { assigneeId: 'me' }, 50)).toEqual(sorted('-created_at', theirs));
    expect(await walk(by, { agentId: mate.userId }, 50)).toEqual([]);
    const [first] = all as [WorkItem];
    const children = all.filter(({ parentId }) => parentId === first.id);
    expect(await walk(by, { parentId: first.id, sort: 'position' }, 3)).toEqual(sorted('position', children));
    expect(await codeOf(stage.list(by, { parentId: 'top' }))).toBe('invalid_value');
    expect(await codeOf(stage.list(by, { assigneeId: 'nobody' }))).toBe('invalid_value');
  });

  test('no filter finds anything of workspaces that the caller cannot read', async () => {
    const stranger = stage.person('Stranger');
    const guest = stage.person('Guest');
    stage.join(guest, places[0], WorkspaceRole.GUEST);
    const [first] = all as [WorkItem];
    for (const who of [stranger, guest]) {
      for (const fields of [{}, { q: 'reading' }, { q: '#1' }, { label: 'bug' }, { parentId: first.id }]) {
        expect(await walk(who, fields, 50)).toEqual([]);
      }
    }
    expect(await codeOf(stage.list(guest, { workspaceId: places[0].workspaceId }))).toBe('insufficient_role');
    const own = { workspaceId: places[0].workspaceId, assigneeId: 'me' };
    expect(await codeOf(stage.list(guest, own))).toBe('none');
    expect(await codeOf(stage.list(stranger, own))).toBe('not_found');
  });
});
