import { join } from 'node:path';
import { ConfigError, type Values } from '@commonplace/kit/config';
import { makeFolder } from '@commonplace/kit/durable';
import type { config } from '../config.js';
import type { SearchIndex } from './port.js';
import { DEFAULT_LIMITS } from './sqlite/file.js';
import { openSqliteIndex } from './sqlite/index.js';

export interface OpenedIndex {
  readonly index: SearchIndex;
  /** Other processes write to it as well. */
  readonly shared: boolean;
}

/** Opens the index that the settings name: on Typesense servers, or in a file of the data folder. */
export async function openIndex(settings: Values<typeof config>, dataDir: string): Promise<OpenedIndex> {
  const { typesenseUrl: urls, typesenseApiKey: apiKey, typesensePrefix: prefix, vectorMemory } = settings;
  if ((urls === undefined) !== (apiKey === undefined)) {
    throw new ConfigError([
      'COMMONPLACE_TYPESENSE_URL and COMMONPLACE_TYPESENSE_API_KEY go together: set both or neither',
    ]);
  }
  if (urls !== undefined && apiKey !== undefined) {
    const { openTypesenseIndex } = await import('./typesense/index.js');
    return { index: openTypesenseIndex({ urls, apiKey, prefix }), shared: true };
  }
  makeFolder(dataDir);
  const limits = { ...DEFAULT_LIMITS, vectors: vectorMemory * 2 ** 20 };
  return { index: await openSqliteIndex({ path: join(dataDir, 'search.db'), limits }), shared: false };
}
