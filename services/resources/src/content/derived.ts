import { LRUCache } from 'lru-cache';
import type { DocumentFormat, StoredContent } from '../stores/contents.js';
import { payloadOf } from './document-body.js';
import type { Payload } from './kind.js';

/** Bytes of derived texts that a process remembers. */
const REMEMBERED_BYTES = 32 * 1024 * 1024;
/** What a remembered text takes beside itself. */
const OVERHEAD_BYTES = 500;

/** Answers stored documents in other formats than their own, and remembers what took long to derive. */
export function createDerivedForms(): (record: StoredContent, format: DocumentFormat) => Payload {
  const known = new LRUCache<string, Payload>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ content }) => (content?.length ?? 0) + OVERHEAD_BYTES,
  });
  return (record, format) => {
    if (record.format === format) return payloadOf(record, format);
    const key = `${record.id}:${record.version}:${format}`;
    let payload = known.get(key);
    if (payload === undefined) {
      payload = payloadOf(record, format);
      known.set(key, payload);
    }
    return payload;
  };
}
