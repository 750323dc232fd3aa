import { LRUCache } from 'lru-cache';
import type { DocumentFormat, StoredContent } from '../stores/contents.js';
import type { Deriver } from './deriver.js';
import { bare, payloadOf } from './document-body.js';
import type { Payload } from './kind.js';

/** Bytes of derived texts that a process remembers. */
const REMEMBERED_BYTES = 32 * 1024 * 1024;
/** What a remembered text takes beside itself. */
const OVERHEAD_BYTES = 500;

/** Answers a stored document in a format, with placeholders for what is hidden from the reader. */
export type DerivedForms = (
  record: StoredContent,
  format: DocumentFormat,
  hidden: readonly string[],
) => Promise<Payload> | Payload;

/** Remembers what took long to derive: other formats than a document's own, and those with placeholders. */
export function createDerivedForms(deriver: Deriver): DerivedForms {
  const known = new LRUCache<string, Payload>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ content }) => (content?.length ?? 0) + OVERHEAD_BYTES,
  });
  return async (record, format, hidden) => {
    if (record.format === format && hidden.length === 0) return payloadOf(record, format);
    const key = `${record.id}:${record.version}:${format}:${hidden.join(' ')}`;
    let payload = known.get(key);
    if (payload === undefined) {
      payload = await deriver.run(record.text.length, 'payload', bare(record), format, hidden);
      known.set(key, payload);
    }
    return payload;
  };
}
