import type { CallContext } from '@commonplace/kit/rpc';
import { expect, test } from '@jest/globals';
import { foundAnchors, noteFound, onItsBlock } from '../../src/comments/anchors.js';
import type { CommentParts } from '../../src/comments/parts.js';
import type { Comment } from '../../src/comments/records.js';
import { derivation } from '../../src/documents/kind/derivation.js';
import type { Deriver } from '../../src/documents/kind/deriver.js';
import { createDocumentKind } from '../../src/documents/kind/document.js';
import type { DocumentParts } from '../../src/documents/kind/document-parts.js';
import type { Node } from '../../src/domain/node.js';

/** A derivation that was requested, with its number of anchors, and the bytes by which its thread is chosen. */
interface Run {
  readonly name: string;
  readonly bytes: number;
  readonly anchors: number;
}

/** Opens the kind of documents on one document, and records what is derived from it. */
function openDocument(text: string) {
  let record = { id: 'a', version: 1, tenant: 't', format: 'markdown', text };
  const runs: Run[] = [];
  const deriver = {
    run: async (_who: unknown, bytes: number, name: keyof typeof derivation, ...args: never[]) => {
      runs.push({ name, bytes, anchors: name === 'anchors' ? ((args as unknown[][])[1]?.length ?? 0) : 0 });
      return (derivation[name] as (...given: never[]) => unknown)(...args);
    },
  } as unknown as Deriver;
  const get = async () => record;
  const work = { get, replace: (_: unknown, _before: unknown, after: typeof record) => (record = after) };
  const kind = createDocumentKind({ contents: { get }, deriver, settings: {} } as unknown as DocumentParts);
  return { kind, runs, context: { work } as unknown as CallContext };
}

const LINES = Array.from({ length: 200 }, (_, i) => `The ${i}th heron stands in the reeds.`);

test('the passages of comments in a long document are looked for where it is parsed, fifty at a time', async () => {
  const text = LINES.join('\n\n');
  const { kind, runs, context } = openDocument(text);
  const anchors = LINES.slice(0, 120).map((_, i) => ({ quote: `${i}th heron` }));
  const places = await kind.places({ id: 'a' }, [...anchors, { quote: 'no such bird' }], context);
  expect(places.pop()).toBe('orphaned');
  expect(new Set(places.map((place) => place !== 'orphaned' && place.block_id)).size).toBe(120);
  expect(places[7]).toMatchObject({ start: 4, end: 13 });
  const bytes = text.length;
  expect(runs).toEqual([
    { name: 'ids', bytes, anchors: 0 },
    { name: 'anchors', bytes, anchors: 50 },
    { name: 'anchors', bytes, anchors: 50 },
    { name: 'anchors', bytes, anchors: 21 },
  ]);
});

test('words of hidden references in a long document are looked for where it is parsed', async () => {
  const id = '0190cf5e-9f3c-7d60-8000-0123456789ab';
  const { kind, runs } = openDocument([...LINES, `[Secret plan](resource:${id})`].join('\n\n'));
  expect(await kind.hiddenWords({ id: 'a' }, new Set([id]))).toEqual(['Secret plan']);
  expect(runs).toMatchObject([{ name: 'hiddenWords', anchors: 0 }]);
});

test('a document is not searched again for the answer about a comment that was just placed in it', async () => {
  const { kind, runs, context } = openDocument(LINES.join('\n\n'));
  const parts = { kinds: { document: kind } } as unknown as CommentParts;
  const node = { id: 'a', contentVersion: 1 } as unknown as Node;
  const { anchor, isFound } = await onItsBlock(parts, node, { quote: '3th heron' }, context);
  const comment = { id: 'c', anchor } as unknown as Comment;
  expect([isFound, anchor.blockId]).toEqual([true, expect.any(String)]);
  noteFound(node, comment);
  const searches = runs.length;
  expect(await foundAnchors(parts, node, [comment], context)).toEqual(new Map([['c', anchor.blockId]]));
  expect(runs).toHaveLength(searches);
});
