import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection, Store } from '@commonplace/kit/store';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Node } from '../src/domain/node.js';
import { keyBetween, type RequestedPosition, randomKeyBetween } from '../src/domain/position.js';
import { nodeCollection } from '../src/nodes/records.js';
import type { Tree } from '../src/nodes/tree.js';
import { positionFor } from '../src/tree/siblings.js';

const ada = { type: 'user', id: 'ada', name: 'Ada' } as const;
let database: TestDatabase;
let store: Store;
let nodes: Collection<Node>;
let parentKey: string;

beforeAll(async () => {
  database = await openTestDatabase();
  store = database.store('resources');
  nodes = await store.collection(nodeCollection);
});
afterAll(async () => {
  await database.close();
});
beforeEach(() => {
  parentKey = newId();
});

function put(work: ReturnType<Store['begin']>, name: string, position: string): Node {
  const place = { orgId: null, workspaceId: 'w', tenant: 'w', boundary: 'w', ancestors: [parentKey], parentKey };
  const stamps = { createdBy: ada, createdById: 'ada', updatedBy: ada, createdAt: 'now', updatedAt: 'now' };
  const state = { restricted: false, locked: false, state: 'active', tags: [], principals: [] } as const;
  const rest = { type: 'folder', contentVersion: 1, sizeBytes: 0, nameFold: name } as const;
  return work.insert(nodes, { ...place, ...stamps, ...state, ...rest, id: newId(), name, position });
}

/** Creates siblings with these keys. */
async function siblings(keys: Readonly<Record<string, string>>): Promise<Record<string, Node>> {
  const work = store.begin();
  const made = Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, put(work, name, key)]));
  await work.commit();
  return made;
}

const positionIn = (work: ReturnType<Store['begin']>, wanted: RequestedPosition, options = {}) => {
  const event = (type: string) => ({ id: newId(), specversion: '1.0', type, source: 's', subject: 's', data: {} });
  return positionFor({ nodes } as Tree, parentKey, wanted, { work, event } as unknown as CallContext, options);
};

/** Moves a node among its siblings. */
async function move({ id }: Node, wanted: RequestedPosition): Promise<void> {
  const work = store.begin();
  const node = (await work.get(nodes, id)) as Node;
  work.replace(nodes, node, { ...node, position: await positionIn(work, wanted, { id }) });
  await work.commit();
}

async function order(): Promise<string> {
  const found = await nodes.find({ where: { parentKey, state: 'active' }, sort: ['position'], limit: 100 });
  return found.map(({ name }) => name).join('');
}

describe('siblings that were put in one place concurrently', () => {
  test.each<RequestedPosition>([{ at: 'first' }, { at: 'last' }, { after: 'a' }, { before: 'c' }])(
    'have different keys (%j)',
    async (where) => {
      const { a, c } = await siblings({ a: 'a0', c: 'a1' });
      const wanted = 'after' in where ? { after: a?.id ?? '' } : 'before' in where ? { before: c?.id ?? '' } : where;
      const keys = await Promise.all(Array.from({ length: 10 }, () => positionIn(store.begin(), wanted)));
      expect(new Set(keys).size).toBe(10);
    },
  );
});

describe('among siblings with one key', () => {
  const KEYS = { a: 'a0', b: 'a1', c: 'a1', d: 'a1', e: 'a1', z: 'a2' };

  test('a node is put exactly before or after the named one', async () => {
    const { z, c, d } = (await siblings(KEYS)) as Record<string, Node> & { z: Node; c: Node; d: Node };
    expect(await order()).toBe('abcdez');
    await move(z, { before: d.id });
    expect(await order()).toBe('abczde');
    await move(z, { after: c.id });
    expect(await order()).toBe('abczde');
    await move(z, { before: c.id });
    expect(await order()).toBe('abzcde');
  });

  test('one of them is put before or after another', async () => {
    const { b, c, e } = (await siblings(KEYS)) as Record<string, Node> & { b: Node; c: Node; e: Node };
    await move(e, { before: c.id });
    expect(await order()).toBe('abecdz');
    await move(b, { after: c.id });
    expect(await order()).toBe('aecbdz');
  });

  test('only those that come later get new keys, and none in a dry run', async () => {
    const { a, b, d, e } = (await siblings(KEYS)) as Record<'a' | 'b' | 'd' | 'e', Node>;
    const dry = store.begin();
    await positionIn(dry, { before: d.id }, { dryRun: true });
    expect(dry.dirty).toBe(false);
    const work = store.begin();
    const key = await positionIn(work, { before: d.id });
    expect('a1' < key && key < 'a2').toBe(true);
    await work.commit();
    const versions = await nodes.getMany([a.id, b.id, d.id, e.id]);
    expect(versions.map(({ version }) => version)).toEqual([1, 1, 2, 2]);
    expect(await order()).toBe('abcdez');
  });
});

test('random keys lie between the given ones, and stay short', () => {
  for (let round = 0; round < 20; round++) {
    const keys = ['a0', 'a0V', 'a1'];
    for (let i = 0; i < 200; i++) {
      const at = Math.floor(Math.random() * (keys.length + 1));
      const [before = null, after = null] = [keys[at - 1], keys[at]];
      const key = randomKeyBetween(before, after);
      expect((before === null || before < key) && (after === null || key < after)).toBe(true);
      // Other keys fit on both sides.
      expect([keyBetween(before, key) < key, key < keyBetween(key, after)]).toEqual([true, true]);
      keys.splice(at, 0, key);
    }
  }
  let first = 'a1';
  for (let i = 0; i < 1000; i++) first = randomKeyBetween('a0', first);
  expect(first.length).toBeLessThan(300);
  let last: string | null = null;
  for (let i = 0; i < 1000; i++) last = randomKeyBetween(last, null);
  expect(last?.length).toBeLessThan(10);
});
