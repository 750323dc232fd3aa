import { LRUCache } from 'lru-cache';
import type { Payload } from '../../content/kind.js';
import type { Deriver } from './deriver.js';
import { bare, payloadOf, sourcePayloadInSlices } from './document-body.js';
import type { DocumentFormat, StoredContent } from './records.js';

/** Bytes of derived texts that a process caches. */
const REMEMBERED_BYTES = 32 * 1024 * 1024;
/**
 * Maximum length of a document in its own format whose payload is created without yielding, which takes some tenths of
 * a millisecond.
 */
const CHARS_AT_ONCE = 16 * 1024;
/** Estimated bytes of a cache entry beside its content. */
const OVERHEAD_BYTES = 500;

/** Returns a stored document in a format, with placeholders for what is hidden from the reader. */
export type DerivedForms = (
  record: StoredContent,
  format: DocumentFormat,
  hidden: readonly string[],
  deadline: number,
) => Promise<Payload> | Payload;

/** Caches what is slow to derive: formats other than the document's own, and documents with placeholders. */
export function createDerivedForms(deriver: Deriver): DerivedForms {
  const known = new LRUCache<string, Payload>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ content }) => (content?.length ?? 0) + OVERHEAD_BYTES,
  });
  return async (record, format, hidden, deadline) => {
    if (record.format === format && hidden.length === 0) {
      if (record.text.length <= CHARS_AT_ONCE) return payloadOf(record, format);
      // Counting the words of other formats requires parsing, which a worker thread does.
      if (format === 'markdown' || format === 'text') return sourcePayloadInSlices(record, format);
    }
    const key = `${record.id}:${record.version}:${format}:${hidden.join(' ')}`;
    let payload = known.get(key);
    if (payload === undefined) {
      payload = await deriver.run(
        { tenant: record.tenant, deadline },
        record.text.length,
        'payload',
        bare(record),
        format,
        hidden,
      );
      known.set(key, payload);
    }
    return payload;
  };
}
