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
