import { defineSettings, integer, list, shaped, text, url } from '@commonplace/kit/config';
import { embeddingSettings } from './embedding/settings.js';

const URL_PATTERN = 'https?://[^,\\s]+';
const urls = shaped({ kind: 'text', pattern: `${URL_PATTERN}(,${URL_PATTERN})*` }, (value: string): string[] =>
  list(value).map(url('http', 'https')),
);

const PREFIX_PATTERN = '[a-z0-9]{1,32}';
const prefix = shaped({ kind: 'text', pattern: PREFIX_PATTERN }, (value: string): string => {
  if (!new RegExp(`^${PREFIX_PATTERN}$`).test(value)) throw new Error('must have 1 to 32 letters a-z and digits');
  return value;
});

export const config = defineSettings({
  indexBatch: { help: 'events that the index handles at once', parse: integer(1, 1000), fallback: 100 },
  indexCheckMinutes: {
    help: 'minutes between two checks that compare the index with the tree and repair it; 0 for none',
    parse: integer(0, 10_080),
    fallback: 60,
  },
  chunkTokens: {
    variable: 'COMMONPLACE_EMBEDDINGS_CHUNK_TOKENS',
    help: 'tokens of a text that are embedded as one passage; after a change everything is embedded again',
    parse: integer(50, 2000),
    fallback: 256,
  },
  queryTimeoutMs: {
    variable: 'COMMONPLACE_EMBEDDINGS_QUERY_MS',
    help: 'milliseconds after which a search continues without the embedding of its query',
    parse: integer(10, 60_000),
    fallback: 3000,
  },
  vectorMemory: {
    variable: 'COMMONPLACE_VECTOR_MEMORY_MB',
    help: 'maximum megabytes of vectors that are kept in memory while they are searched; further ones are read from the file',
    parse: integer(0, 100_000),
    fallback: 256,
  },
  typesenseUrl: {
    common: 'search server, not the data folder',
    help: 'Typesense server that keeps the search index, instead of the data folder; the nodes of a cluster separated by commas',
    parse: urls,
    connects: true,
    fallback: undefined as string[] | undefined,
  },
  typesenseApiKey: {
    help: 'key of the Typesense server with access to collections, aliases and documents; required with its URL',
    parse: text,
    fallback: undefined as string | undefined,
    secret: true,
  },
  typesensePrefix: {
    help: 'prefix of the names of all collections, so that installations may share a Typesense server',
    parse: prefix,
    fallback: 'commonplace',
  },
  ...embeddingSettings,
});
