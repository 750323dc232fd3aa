import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type DocumentFormat = 'markdown' | 'json' | 'html' | 'text';

/** What was last written into a document, as it was written. Its id is the node's. */
export interface StoredContent extends StoredRecord {
  readonly tenant: string;
  readonly format: DocumentFormat;
  readonly text: string;
}

export const contentCollection: CollectionSpec<StoredContent> = { name: 'contents', indexes: [] };
