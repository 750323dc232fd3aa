import { maxEntries } from '@commonplace/kit/cache';
import { LRUCache } from 'lru-cache';
import type { Node } from '../../domain/node.js';
import { namedIn } from './hidden.js';

/** Maximum number of documents that are remembered, at some 200 bytes each. */
const MAX_DOCUMENTS = 50_000;

/** Remembers documents that name no resource, which therefore need not be read to find what their readers may not see. */
export interface NamelessDocuments {
  /** Returns whether a document is known to name no resource at the version of its node. */
  has(node: Node): boolean;
  /** Notes whether a document names none, by the text that was read for this node or later. */
  note(node: Node, text: string): void;
}

export function createNamelessDocuments(): NamelessDocuments {
  const versions = new LRUCache<string, string>(maxEntries(MAX_DOCUMENTS));
  return {
    has: (node) => versions.get(node.id) === versionOf(node),
    note(node, text) {
      if (namedIn(text).length === 0) versions.set(node.id, versionOf(node));
    },
  };
}

/** Returns a text that differs between all versions of a document: each write of one changes its node as well. */
export function versionOf({ version, updatedAt, contentVersion }: Node): string {
  return `${version}:${contentVersion}:${updatedAt}`;
}
