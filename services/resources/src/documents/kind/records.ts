import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type DocumentFormat = 'markdown' | 'json' | 'html' | 'text';

/** The content of a document, exactly as it was last written. Its id is the node's. */
export interface StoredContent extends StoredRecord {
  readonly tenant: string;
  readonly format: DocumentFormat;
  readonly text: string;
  /** Ids of the blocks in document order, separated by spaces; absent while unknown, and then derived from the text. */
  readonly blockIds?: string | undefined;
}

export const contentCollection: CollectionSpec<StoredContent> = { name: 'contents', indexes: [] };
