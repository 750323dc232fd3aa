import type { CallContext } from '@commonplace/kit/rpc';
import { nextTurn } from '@commonplace/kit/slices';
import { ContentFormat } from '@commonplace/proto/resources/v1/content_service.js';
import { expect, test } from '@jest/globals';
import { derivation } from '../../src/documents/kind/derivation.js';
import type { Deriver } from '../../src/documents/kind/deriver.js';
import { createDocumentKind } from '../../src/documents/kind/document.js';
import type { DocumentParts } from '../../src/documents/kind/document-parts.js';
import type { StoredContent } from '../../src/documents/kind/records.js';
import type { Node } from '../../src/domain/node.js';

const NODE = { id: 'a', tenant: 't', version: 1, contentVersion: 1, updatedAt: '' } as unknown as Node;
const RECORD = { id: 'a', version: 1, tenant: 't', format: 'markdown', text: 'One\n\nTwo' } as unknown as StoredContent;

function createKind() {
  const derivations: string[] = [];
  const deriver = {
    run: async (_who: unknown, _bytes: number, name: keyof typeof derivation, ...args: never[]) => {
      derivations.push(name);
      // A thread takes longer than the other reader needs to ask.
      await nextTurn();
      return (derivation[name] as (...given: never[]) => unknown)(...args);
    },
  } as unknown as Deriver;
  const hidden = { in: async () => [], from: async () => [] };
  const kind = createDocumentKind({ deriver, hidden, settings: {} } as unknown as DocumentParts);
  /** Reads the document as JSON in a unit of work of its own, on which `isDirty` says whether it has written before. */
  const read = async (isDirty = false) => {
    const kept: StoredContent[] = [];
    const work = {
      get dirty() {
        return isDirty || kept.length > 0;
      },
      get: async () => RECORD,
      replace(_collection: unknown, before: StoredContent, after: StoredContent) {
        kept.push(after);
        return { ...after, version: before.version + 1 };
      },
    };
    const context = { work, deadline: Date.now() + 10_000, signal: new AbortController().signal };
    const payload = await kind.read(NODE, { format: ContentFormat.JSON } as never, context as unknown as CallContext);
    return { content: payload.content?.toString(), kept: kept.map(({ blockIds }) => blockIds) };
  };
  return { read, derivations };
}

test('readers at once of the first JSON get the same ids of blocks, which are derived once', async () => {
  const { read, derivations } = createKind();
  const [first, second] = await Promise.all([read(), read()]);
  expect(first.kept).toHaveLength(1);
  expect(second).toEqual(first);
  for (const id of first.kept[0]?.split(' ') ?? []) expect(first.content).toContain(id);
  expect(derivations).toEqual(['ids', 'payload']);
});

test('content that is not committed is neither shared nor cached', async () => {
  const { read, derivations } = createKind();
  await Promise.all([read(true), read(true)]);
  expect(derivations.filter((name) => name === 'payload')).toHaveLength(2);
  await read();
  await read();
  expect(derivations.filter((name) => name === 'payload')).toHaveLength(4);
});
