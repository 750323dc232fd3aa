import { createBreathe } from '@commonplace/kit/slices';
import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import { expect, test } from '@jest/globals';
import type { Node } from '../src/domain/node.js';
import { childrenOf, navigationOf } from '../src/publications/navigation.js';
import type { OpenedPublication } from '../src/publications/opening.js';
import { outlineOf } from '../src/publications/outline.js';

const idOf = (name: string) => `id-${name}`;
const nodeOf = (name: string, parent: string, position: number) =>
  ({
    ...{ id: idOf(name), name, type: 'document', parentKey: idOf(parent), workspaceId: 'w', version: 1 },
    ...{ position: String(position).padStart(6, '0'), updatedAt: '2026-01-01T00:00:00.000Z', updatedBy: { name: '' } },
  }) as unknown as Node;
const pagesBelow = (parent: string, count: number) =>
  Array.from({ length: count }, (_, i) => nodeOf(`${parent}.${i}`, parent, i));

async function openedOf(...below: Node[]): Promise<OpenedPublication> {
  const publication = { itemId: idOf('top'), kind: 'resource', includeChildren: true, slug: 'top', updatedAt: '' };
  const outline = await outlineOf(publication as never, [nodeOf('top', 'w', 0), ...below], createBreathe());
  const host = { kind: HostKind.PUBLIC, origin: 'https://wiki.example.com', prefix: '' };
  return { host, publication, outline, terms: { workspaceName: 'W' }, domains: [] } as unknown as OpenedPublication;
}

const namesIn = (opened: OpenedPublication, open?: string) => {
  const shown = opened.outline.byId.get(idOf(open ?? 'top'));
  const { tree, trail, leftOut } = navigationOf(opened, shown);
  return { tree: tree.map(({ name }) => name), trail: trail.map(({ name }) => name), leftOut };
};

test('a publication of up to 200 pages is shown as a whole', async () => {
  const opened = await openedOf(...pagesBelow('top', 99), ...pagesBelow('top.3', 100));
  const { tree, leftOut } = namesIn(opened);
  expect([tree.length, leftOut]).toEqual([200, 0]);
  expect(tree.slice(4, 7)).toEqual(['top.3', 'top.3.0', 'top.3.1']);
});

test('other requests run while the outline of a large publication is made', async () => {
  const publication = { itemId: idOf('top'), kind: 'resource', includeChildren: true };
  const nodes = [nodeOf('top', 'w', 0), ...pagesBelow('top', 6_000)];
  let pauses = 0;
  await outlineOf(publication as never, nodes, async () => void pauses++);
  // Nodes are read, pages are put in order, and the fingerprint is made: each pauses after 200 pages.
  expect(pauses).toBeGreaterThanOrEqual(3 * 30);
});

test('of a larger one, the upper level and the pages along the path to the open one', async () => {
  const opened = await openedOf(...pagesBelow('top', 20), ...pagesBelow('top.3', 100), ...pagesBelow('top.4', 100));
  expect(namesIn(opened)).toMatchObject({ tree: { length: 21 }, trail: ['top'], leftOut: 0 });
  const { tree, trail } = namesIn(opened, 'top.4.7');
  expect(trail).toEqual(['top', 'top.4', 'top.4.7']);
  expect(tree).toHaveLength(121);
  expect(tree.filter((name) => name.startsWith('top.3.'))).toEqual([]);
});

test('of many siblings, those around the open page', async () => {
  const opened = await openedOf(...pagesBelow('top', 5000));
  const first = namesIn(opened);
  expect([first.tree.length, first.tree.at(-1), first.leftOut]).toEqual([101, 'top.99', 4900]);
  const middle = namesIn(opened, 'top.2500');
  expect([middle.tree.length, middle.tree[1], middle.tree.at(-1)]).toEqual([101, 'top.2450', 'top.2549']);
  expect(namesIn(opened, 'top.4999').tree.at(-1)).toBe('top.4999');
});

test('the pages below an item come in ranges', async () => {
  const opened = await openedOf(...pagesBelow('top', 250));
  const range = (offset: number, limit = 0) => {
    const { children, ...rest } = childrenOf(opened, opened.outline.head, { offset, limit });
    return { ...rest, names: [children[0]?.name, children.at(-1)?.name] };
  };
  expect(range(0)).toEqual({ offset: 0, limit: 100, childCount: 250, names: ['top.0', 'top.99'] });
  expect(range(200)).toEqual({ offset: 200, limit: 100, childCount: 250, names: ['top.200', 'top.249'] });
  expect(range(0, 9999).limit).toBe(500);
  expect(childrenOf(opened, opened.outline.byId.get(idOf('top.1')), { offset: 0, limit: 0 }).childCount).toBe(0);
});
