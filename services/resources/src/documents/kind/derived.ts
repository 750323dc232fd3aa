import { createSharedWork } from '@commonplace/kit/cache';
import { LRUCache } from 'lru-cache';
import type { Payload } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import type { Deriver } from './deriver.js';
import { bare, payloadOf, sourcePayloadInSlices } from './document-body.js';
import { namedIn } from './hidden.js';
import { versionOf } from './nameless.js';
import type { DocumentFormat, StoredContent } from './records.js';

/** Bytes of derived texts that a process caches. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
/**
 * Maximum characters of a stored document whose payload is created without yielding to other requests. This takes some
 * tenths of a millisecond.
 */
const CHARS_AT_ONCE = 16 * 1024;
/** Estimated bytes of a cache entry beside its content. */
const OVERHEAD_BYTES = 500;

interface DerivedForms {
  /** Returns the payload of a document if it is cached and the same for every reader. */
  known(node: Node, format: DocumentFormat): Payload | undefined;
  /** Returns a stored document in a format, with placeholders for what is hidden from the reader. */
  read(
    node: Node,
    record: StoredContent,
    format: DocumentFormat,
    hidden: readonly string[],
    deadline: number,
  ): Promise<Payload> | Payload;
  /** Returns the same, and caches nothing, for a document that got its block ids and is not committed with them. */
  readOnce(
    record: StoredContent,
    format: DocumentFormat,
    hidden: readonly string[],
    deadline: number,
  ): Promise<Payload>;
}

/**
 * Caches what readers get. A document that names no resource is the same for every reader: its payload is cached by the
 * version of its node, which each request reads anyway, so that neither its record is read nor its words are counted
 * again. A document with placeholders is cached by its own version and what is hidden.
 */
export function createDerivedForms(deriver: Deriver): DerivedForms {
  const cached = new LRUCache<string, Payload>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ content }) => (content?.length ?? 0) + OVERHEAD_BYTES,
  });

  /** Derives payloads, by their keys in the cache. */
  const shared = createSharedWork<Payload>();

  function derive(
    key: string,
    record: StoredContent,
    format: DocumentFormat,
    hidden: readonly string[],
    deadline: number,
  ): Promise<Payload> {
    const { tenant, text } = record;
    return shared(key, async () =>
      deriver.run({ tenant, deadline }, text.length, 'payload', bare(record), format, hidden),
    );
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
    const payload = await derive(key, record, format, hidden, deadline);
    cached.set(key, payload);
    return payload;
  }

  function source(record: StoredContent, format: DocumentFormat): Promise<Payload> | Payload | undefined {
    if (record.format !== format) return undefined;
    if (record.text.length <= CHARS_AT_ONCE) return payloadOf(record, format);
    // Counting the words of other formats requires parsing, which a worker thread does.
    return format === 'markdown' || format === 'text' ? sourcePayloadInSlices(record, format) : undefined;
  }

  return {
    known: (node, format) => cached.get(keyOf(node, format)),
    async read(node, record, format, hidden, deadline) {
      const written = hidden.length === 0 ? source(record, format) : undefined;
      if (namedIn(record.text).length > 0) return written ?? readCached(record, format, hidden, deadline);
      const key = keyOf(node, format);
      const payload = await (written ?? derive(key, record, format, hidden, deadline));
      cached.set(key, withOwnMemory(payload));
      return payload;
    },
    readOnce(record, format, hidden, deadline) {
      const key = [record.id, record.version, record.blockIds, format, ...hidden].join(' ');
      return derive(key, record, format, hidden, deadline);
    },
  };
}

/** Copies content that shares its memory with other buffers, all of which a cached part would keep. */
function withOwnMemory(payload: Payload): Payload {
  const { content } = payload;
  if (content === undefined || content.buffer.byteLength === content.length) return payload;
  const copy = Buffer.allocUnsafeSlow(content.length);
  content.copy(copy);
  return { ...payload, content: copy };
}

function keyOf(node: Node, format: DocumentFormat): string {
  return `${node.id}:${versionOf(node)}:${format}`;
}
