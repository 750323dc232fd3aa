import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type DocumentFormat = 'markdown' | 'json' | 'html' | 'text';

/** What was last written into a document, as it was written. Its id is the node's. */
export interface StoredContent extends StoredRecord {
  readonly tenant: string;
  readonly format: DocumentFormat;
  readonly text: string;
  /**
   * Ids of the blocks in document order, with spaces between; absent as long as nobody knows them: they
   * are derived from the text then.
   */
  readonly blockIds?: string | undefined;
}

export const contentCollection: CollectionSpec<StoredContent> = { name: 'contents', indexes: [] };
