import type { CallContext } from '@commonplace/kit/rpc';
import { countTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import { planPieces } from '../src/copies/copy.js';
import { copyNodes } from '../src/copies/copy-nodes.js';
import { renamingOf } from '../src/copies/renaming.js';
import { copyId, layOut } from '../src/domain/copy.js';
import type { Node } from '../src/domain/node.js';
import { drawCopies } from '../src/templates/create.js';
import { wholeTree } from '../src/templates/messages.js';
import type { TopSource } from '../src/templates/sources.js';

const ROOT = 'w';
const FOLDERS = 20;
const WIDTH = 20;
/** Folders, each before the documents in it, with positions that fall: the last of each is shown first. */
const nodes = Array.from({ length: FOLDERS }, (_, f) => [
  nodeOf(`f${f}`, 'folder', [], FOLDERS - f),
  ...Array.from({ length: WIDTH }, (_, d) => nodeOf(`f${f}d${d}`, 'document', [`f${f}`], WIDTH - d)),
]).flat();

function nodeOf(id: string, type: Node['type'], ancestors: string[], place: number): Node & TopSource {
  const position = String(place).padStart(3, '0');
  const name = `"${id}" \u2028`;
  return {
    id,
    type,
    name,
    ancestors,
    position,
    boundary: ROOT,
    workspaceId: ROOT,
    tags: [],
    sizeBytes: 1,
    managed: false,
    createdBy: {},
  } as never;
}

/** Works for a time that no other request should have to wait. */
function work(): void {
  const until = performance.now() + 2;
  while (performance.now() < until);
}

async function pausesOf(run: (breathe: () => Promise<void>) => Promise<unknown>): Promise<number> {
  let pauses = 0;
  await run(async () => void pauses++);
  return pauses;
}

const root = { id: ROOT, boundary: ROOT };

test('a large copy is planned with pauses', async () => {
  const { copies, width, height, children } = await layOut(root, nodes, async () => {});
  expect([copies.length, width, height, children]).toEqual([nodes.length, FOLDERS, 2, FOLDERS]);
  expect(await pausesOf((breathe) => layOut(root, nodes, breathe))).toBeGreaterThanOrEqual(nodes.length);
  expect(await pausesOf((breathe) => renamingOf('k', nodes, breathe))).toBe(nodes.length);
  const renamed = await renamingOf('k', nodes, async () => {});
  expect([renamed('f1'), renamed('elsewhere')]).toEqual([copyId('k', 'f1'), undefined]);
  expect(await pausesOf((breathe) => drawCopies(nodes, copies, breathe))).toBe(2 * nodes.length);
});

test('other requests run while the plan of a large copy is stored', async () => {
  const layout = await layOut(root, nodes, async () => {});
  const pieces: { copies: object[] }[] = [];
  const insert = (_: unknown, piece: { copies: object[] }) => {
    work();
    return pieces.push(piece);
  };
  const context = { work: { insert } } as unknown as CallContext;
  const parts = { settings: { inlineCopy: 50 } } as never;
  const turns = await countTurns(() => planPieces(parts, { id: 'k', tenant: 't' }, layout, nodes, context));
  expect(pieces.map(({ copies }) => copies.length)).toEqual([50, 50, 50, 50, 50, 50, 50, 50, 20]);
  expect(turns).toBeGreaterThanOrEqual(pieces.length);
});

test('other requests run while a piece of a copy is written', async () => {
  const insert = (_: unknown, node: Omit<Node, 'version'>) => {
    work();
    return { ...node, version: 1 };
  };
  const context = { work: { insert }, actor: { id: 'ada' } } as unknown as CallContext;
  const place = { tenant: ROOT, orgId: null, workspaceId: ROOT, ancestors: [], boundary: ROOT };
  const targets = nodes.slice(0, 20).map((from) => ({ from, id: from.id, place, parentKey: ROOT, name: from.name }));
  const terms = { renamed: () => undefined, withComments: false, newTags: new Map(), template: true };
  const turns = await countTurns(() => copyNodes({ kinds: {}, tree: {} } as never, targets as never, terms, context));
  expect(turns).toBeGreaterThanOrEqual(targets.length);
});

test('the whole tree of a template is written in slices, in the order of siblings', async () => {
  const parts = {
    tree: {
      nodes: { find: async () => nodes.splice(0, 200) },
      unsettled: async () => [],
      resolve: async (x: unknown) => x,
    },
    settings: { copyResources: 1000 },
  };
  const all = [...nodes];
  const context = {} as CallContext;
  const tree = await wholeTree(parts as never, ROOT, context);
  const lineOf = (node: Node): object => ({
    type: node.type,
    name: node.name,
    icon: null,
    children: all
      .filter(({ ancestors }) => ancestors.at(-1) === node.id)
      .reverse()
      .map(lineOf),
  });
  const expected = all
    .filter(({ ancestors }) => ancestors.length === 0)
    .reverse()
    .map(lineOf);
  expect(tree.toString()).toBe(JSON.stringify(expected));
});
