import { defineSettings, list, shaped, text, url, wholeNumber } from '@commonplace/kit/config';
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
  indexBatch: wholeNumber(100, [1, 1000], 'events that the index handles at once'),
  indexCheckMinutes: wholeNumber(
    60,
    [0, 10_080],
    'minutes between two checks that compare the index with the tree and repair it; 0 for none',
  ),
  embeddingsChunkTokens: wholeNumber(
    256,
    [50, 2000],
    'tokens of a text that are embedded as one passage; after a change everything is embedded again',
  ),
  embeddingsQueryMs: wholeNumber(
    3000,
    [10, 60_000],
    'milliseconds after which a search continues without the embedding of its query',
  ),
  vectorMemoryMb: wholeNumber(
    256,
    [0, 100_000],
    'maximum megabytes of vectors that are kept in memory while they are searched; further ones are read from the file',
  ),
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
