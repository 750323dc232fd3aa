import { LRUCache } from 'lru-cache';
import type { Payload } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import type { Deriver } from './deriver.js';
import { bare, payloadOf, sourcePayloadInSlices } from './document-body.js';
import { namedIn } from './hidden.js';
import type { DocumentFormat, StoredContent } from './records.js';

/** Bytes of derived texts that a process caches. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
/**
 * Maximum length of a document in its own format whose payload is created without yielding, which takes some tenths of
 * a millisecond.
 */
const CHARS_AT_ONCE = 16 * 1024;
/** Estimated bytes of a cache entry beside its content. */
const OVERHEAD_BYTES = 500;

/** Minimum bytes of a document whose payload is cached by the version of its node, so that its record is not read. */
const LARGE_BYTES = 256 * 1024;

export interface DerivedForms {
  /** Returns the payload of a large document if it is cached and the same for every reader. */
  known(node: Node, format: DocumentFormat): Payload | undefined;
  /** Returns a stored document in a format, with placeholders for what is hidden from the reader. */
  read(
    node: Node,
    record: StoredContent,
    format: DocumentFormat,
    hidden: readonly string[],
    deadline: number,
  ): Promise<Payload> | Payload;
}

/**
 * Caches what is slow to derive: formats other than the document's own, documents with placeholders, and large
 * documents, because reading and parsing the record of one holds the event loop.
 */
export function createDerivedForms(deriver: Deriver): DerivedForms {
  const cached = new LRUCache<string, Payload>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ content }) => (content?.length ?? 0) + OVERHEAD_BYTES,
  });

  async function derive(record: StoredContent, format: DocumentFormat, hidden: readonly string[], deadline: number) {
    const { tenant, text } = record;
    return deriver.run({ tenant, deadline }, text.length, 'payload', bare(record), format, hidden);
  }

  async function readCached(
    record: StoredContent,
    format: DocumentFormat,
    hidden: readonly string[],
    deadline: number,
  ): Promise<Payload> {
    const key = `${record.id}:${record.version}:${format}:${hidden.join(' ')}`;
    const known = cached.get(key);
    if (known !== undefined) return known;
    const payload = await derive(record, format, hidden, deadline);
    cached.set(key, payload);
    return payload;
  }

  return {
    known: (node, format) => (node.sizeBytes < LARGE_BYTES ? undefined : cached.get(keyOf(node, format))),
    async read(node, record, format, hidden, deadline) {
      const isSource = record.format === format && hidden.length === 0;
      if (isSource && record.text.length <= CHARS_AT_ONCE) return payloadOf(record, format);
      // Counting the words of other formats requires parsing, which a worker thread does.
      const inSlices = isSource && (format === 'markdown' || format === 'text');
      const isShared = node.sizeBytes >= LARGE_BYTES && namedIn(record.text).length === 0;
      if (!isShared)
        return inSlices ? sourcePayloadInSlices(record, format) : readCached(record, format, hidden, deadline);
      const payload = await (inSlices
        ? sourcePayloadInSlices(record, format)
        : derive(record, format, hidden, deadline));
      cached.set(keyOf(node, format), payload);
      return payload;
    },
  };
}

/** Returns a key of what a node holds: each write of a document changes the node as well. */
function keyOf({ id, version, updatedAt, contentVersion }: Node, format: DocumentFormat): string {
  return `${id}:${version}:${contentVersion}:${updatedAt}:${format}`;
}
