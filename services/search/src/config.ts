import { integer, type Table } from '@commonplace/kit/config';
import { embeddingSettings } from './embedding/settings.js';

export const config = {
  indexBatch: {
    variable: 'COMMONPLACE_INDEX_BATCH',
    help: 'events that the index takes in at once',
    parse: integer(1, 1000),
    fallback: 100,
  },
  chunkTokens: {
    variable: 'COMMONPLACE_EMBEDDINGS_CHUNK_TOKENS',
    help: 'tokens of a text that are embedded as one passage; a change embeds everything anew',
    parse: integer(50, 2000),
    fallback: 200,
  },
  queryTimeoutMs: {
    variable: 'COMMONPLACE_EMBEDDINGS_QUERY_MS',
    help: 'milliseconds after which a search goes on without the embedding of its query',
    parse: integer(10, 60_000),
    fallback: 3000,
  },
  vectorMemory: {
    variable: 'COMMONPLACE_VECTOR_MEMORY_MB',
    help: 'megabytes of vectors kept in memory while they are searched; further ones are read from the file',
    parse: integer(0, 100_000),
    fallback: 256,
  },
  ...embeddingSettings,
} satisfies Table;
