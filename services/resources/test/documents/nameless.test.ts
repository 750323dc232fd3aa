import { expect, test } from '@jest/globals';
import { createNamelessDocuments } from '../../src/documents/kind/nameless.js';
import type { Node } from '../../src/domain/node.js';

const nodeAt = (version: number) => ({ id: 'a', version, contentVersion: 1, updatedAt: '' }) as unknown as Node;

test('a document is known to name nothing at the version at which it was read', () => {
  const nameless = createNamelessDocuments();
  expect(nameless.has(nodeAt(1))).toBe(false);
  nameless.note(nodeAt(1), 'One two');
  expect([nameless.has(nodeAt(1)), nameless.has(nodeAt(2))]).toEqual([true, false]);
});

test('a document that names a resource is read again each time', () => {
  const nameless = createNamelessDocuments();
  nameless.note(nodeAt(1), '[a](resource:0190cf5e-9f3c-7d60-8000-0123456789ab)');
  expect(nameless.has(nodeAt(1))).toBe(false);
});
