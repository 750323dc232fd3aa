import type { Node } from '../domain/node.js';

/** Matches content types of files that contain no text. */
const WORDLESS = /^(?:image|audio|video)\//;

/**
 * Splits nodes into groups of about `mostBytes` bytes of content each, in order; a larger node is a group of its own.
 */
export function* portions(nodes: readonly Node[], mostBytes: number): Generator<readonly Node[]> {
  let from = 0;
  let bytes = 0;
  for (const [at, node] of nodes.entries()) {
    const more = WORDLESS.test(node.file?.contentType ?? '') ? 0 : node.sizeBytes;
    if (at > from && bytes + more > mostBytes) {
      yield nodes.slice(from, at);
      from = at;
      bytes = 0;
    }
    bytes += more;
  }
  if (from < nodes.length) yield nodes.slice(from);
}

/**
 * Maximum bytes of documents that are read for one page of results. They are read in portions, and other requests run in
 * between.
 */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
const PAGE_PORTION_BYTES = 1024 * 1024;

/** Splits the documents of a page of results into portions, and says which are beyond the bytes that may be read. */
export function* pagePortions(documents: readonly Node[]): Generator<{ nodes: readonly Node[]; isBeyond: boolean }> {
  let bytes = 0;
  for (const nodes of portions(documents, PAGE_PORTION_BYTES)) {
    bytes += nodes.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    yield { nodes, isBeyond: bytes > MAX_PAGE_BYTES };
  }
}
