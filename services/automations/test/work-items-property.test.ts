import { eventually } from '@commonplace/kit/testing';
import { WorkItemStatus as Status, type WorkItem } from '@commonplace/proto/automations/v1/work_item.js';
import { describe, expect, test } from '@jest/globals';
import { codeOf, newPlace, openWorkItemStage } from './work-items-stage.js';

/**
 * Random operations, several at once, against what the rules say of any state: numbers are unique and rise, the tree has no
 * circle and no lost parent, it is no deeper and no wider than the limits, and the counts are those of the children.
 */

const DEPTH = 4;
const CHILDREN = 6;
const ROUNDS = 60;
const CONCURRENCY = 6;

/** Returns numbers within [0, 1) that are the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const STATUSES = [Status.TODO, Status.IN_PROGRESS, Status.DONE, Status.CANCELED];
const isOpen = ({ status }: Pick<WorkItem, 'status'>) => status !== Status.DONE && status !== Status.CANCELED;
/** Refusals that a random operation may get. */
const REFUSALS = new Set([
  ...['none', 'not_found', 'cycle_detected', 'depth_exceeded', 'limit_reached', 'open_children', 'invalid_value'],
]);

describe.each([1, 2, 3])('seed %i', (seed) => {
  test('the tree, its counts and the numbers agree under concurrent changes', async () => {
    const stage = await openWorkItemStage({
      COMMONPLACE_WORK_ITEM_DEPTH: String(DEPTH),
      COMMONPLACE_WORK_ITEM_CHILDREN: String(CHILDREN),
    });
    const random = randomFrom(seed);
    const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
    const by = stage.person('Person');
    const place = newPlace();
    stage.join(by, place);
    const here = { workspaceId: place.workspaceId };
    let known: WorkItem[] = [];
    let lastNumber = 0;
    const created: number[] = [];

    const operations: Record<string, () => Promise<unknown>> = {
      create: async () => {
        const before = lastNumber;
        const parent = random() < 0.7 ? pick(known) : undefined;
        const item = await stage.create(by, { ...here, parentId: parent?.id, status: pick(STATUSES) });
        expect(item.number).toBeGreaterThan(before);
        created.push(item.number);
        lastNumber = Math.max(lastNumber, item.number);
      },
      move: async () => {
        const [item, parent] = [pick(known), random() < 0.8 ? pick(known) : undefined];
        if (item !== undefined) await stage.update(by, item.id, ['parent_id'], { parentId: parent?.id });
      },
      status: async () => {
        const item = pick(known);
        if (item !== undefined) await stage.update(by, item.id, ['status'], { status: pick(STATUSES) });
      },
      order: async () => {
        const item = pick(known);
        const sibling = pick(known.filter(({ parentId }) => parentId === item?.parentId));
        if (item !== undefined && sibling !== undefined) {
          await stage.update(by, item.id, ['before_id'], { beforeId: sibling.id });
        }
      },
      remove: async () => {
        const item = pick(known);
        if (item !== undefined) await stage.remove(by, item.id, random() < 0.3);
      },
    };
    const weighted = ['create', 'create', 'create', 'move', 'move', 'status', 'order', 'remove'];

    for (let round = 0; round < ROUNDS; round++) {
      const chosen = Array.from(
        { length: CONCURRENCY },
        () => operations[pick(weighted) as string] as () => Promise<unknown>,
      );
      const codes = await Promise.all(chosen.map((operate) => codeOf(operate())));
      for (const code of codes) expect(REFUSALS).toContain(code);
      known = await wholeList();
      if (round % 10 === 9) await agree();
    }
    await eventually(async () => expect(await stage.records.removals.count(here)).toBe(0), 20_000);
    known = await wholeList();
    await agree();
    expect(new Set(created).size).toBe(created.length);
    await stage.close();

    async function wholeList(): Promise<WorkItem[]> {
      const items: WorkItem[] = [];
      for (let cursor = ''; ; ) {
        const found = await stage.list(by, { ...here, sort: 'position' }, { limit: 200, cursor });
        items.push(...found.items);
        if (found.page?.nextCursor === undefined) return items;
        cursor = found.page.nextCursor;
      }
    }

    async function agree(): Promise<void> {
      const byId = new Map(known.map((item) => [item.id, item]));
      expect(new Set(known.map(({ number }) => number)).size).toBe(known.length);
      for (const item of known) {
        const line = [item.id];
        for (let parentId = item.parentId; parentId !== undefined; parentId = byId.get(parentId)?.parentId) {
          expect(line).not.toContain(parentId);
          expect(byId.has(parentId)).toBe(true);
          line.push(parentId);
        }
        expect(line.length).toBeLessThanOrEqual(DEPTH);
        const children = known.filter(({ parentId }) => parentId === item.id);
        expect(children.length).toBeLessThanOrEqual(CHILDREN);
        expect(item.childCount).toBe(children.length);
        expect(await stage.records.counts.get(item.id)).toMatchObject({
          ...{ children: children.length, open: children.filter(isOpen).length },
        });
      }
      expect(await stage.records.counts.count(here)).toBe(known.length);
    }
  }, 120_000);
});
