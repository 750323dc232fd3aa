import { expect, test } from '@jest/globals';
import { createOutlines } from '../src/publications/outlines.js';

test('readers who come at once wait for one outline, and one that could not be read is read again', async () => {
  const reads: unknown[] = [];
  let isAway = true;
  const find = async ({ where }: { where: { boundary?: string } }) => {
    if (where.boundary === undefined) return [];
    reads.push(where);
    if (isAway) throw new Error('not now');
    return [];
  };
  const outlines = createOutlines({
    tree: { nodes: { find }, resolve: async (nodes: unknown) => nodes },
    counters: { ofBoundaries: async () => 0 },
    pending: { in: async () => [] },
  } as never);
  const open = () => outlines.of({ id: 'p', itemId: 'w', workspaceId: 'w', kind: 'workspace', boundary: 'w' } as never);
  await expect(open()).rejects.toThrow('not now');
  isAway = false;
  const [first, ...others] = await Promise.all(Array.from({ length: 50 }, open));
  expect(reads).toHaveLength(2);
  expect(others.every((one) => one === first)).toBe(true);
});
