import type { UnitOfWork } from '@commonplace/kit/store';
import { countTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import type { Node } from '../src/domain/node.js';
import { replaceNodes } from '../src/nodes/replace.js';
import type { TagParts } from '../src/tags/parts.js';
import { replaceTag } from '../src/tags/tag-nodes.js';

type Parts = Parameters<typeof replaceNodes>[0];

test('other requests run while many nodes are written', async () => {
  const parts = { tree: { recordOf: (node: Node) => node }, counters: { replace: () => {} } } as unknown as Parts;
  const work = {
    replace(_nodes: unknown, before: Node, after: Omit<Node, 'version'>) {
      const until = performance.now() + 2;
      while (performance.now() < until);
      return { ...after, version: before.version + 1 };
    },
  } as unknown as UnitOfWork;
  const nodes = Array.from({ length: 10 }, (_, i) => ({ id: `${i}`, version: 1 }) as Node);
  let written: Node[] = [];
  const turns = await countTurns(async () => {
    written = await replaceNodes(
      parts,
      work,
      nodes.map((node) => ({ before: node, after: node })),
    );
  });
  expect(written.map(({ id, version }) => [id, version])).toEqual(nodes.map(({ id }) => [id, 2]));
  expect(turns).toBeGreaterThanOrEqual(10);
});

test('a tag is removed from many nodes in one write of its counts', async () => {
  const counted: number[] = [];
  const counters = { replace: (_work: unknown, changes: readonly unknown[]) => counted.push(changes.length) };
  const parts = { tree: { recordOf: (node: Node) => node }, counters } as unknown as TagParts;
  const work = { replace: (_nodes: unknown, _before: Node, after: Node) => after } as unknown as UnitOfWork;
  const nodes = Array.from(
    { length: 10 },
    (_, i) => ({ id: `${i}`, tags: i < 7 ? ['a', 'b'] : ['b'] }) as unknown as Node,
  );
  const changed = await replaceTag(parts, work, nodes, 'a', 'c');
  expect(changed.map(({ tags }) => tags)).toEqual(Array.from({ length: 7 }, () => ['c', 'b']));
  expect(counted).toEqual([7]);
});
