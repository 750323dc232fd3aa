import { join } from 'node:path';
import { ConfigError, type Values } from '@commonplace/kit/config';
import { lockFolder } from '@commonplace/kit/folder-lock';
import type { config } from './config.js';
import type { SearchIndex } from './index/port.js';
import { DEFAULT_LIMITS } from './index/sqlite/file.js';
import { openSqliteIndex } from './index/sqlite/index.js';
import { INDEX_FILE } from './index-installation.js';

export interface OpenedIndex {
  readonly index: SearchIndex;
  /** Whether other processes write to it as well. */
  readonly shared: boolean;
}

/** Opens the configured index: on Typesense servers, or in a file in the data directory. */
export async function openIndex(settings: Values<typeof config>, dataDir: string): Promise<OpenedIndex> {
  const { typesenseUrl: urls, typesenseApiKey: apiKey, typesensePrefix: prefix, vectorMemoryMb } = settings;
  if ((urls === undefined) !== (apiKey === undefined)) {
    throw new ConfigError([
      'COMMONPLACE_TYPESENSE_URL and COMMONPLACE_TYPESENSE_API_KEY go together: set both or neither',
    ]);
  }
  if (urls !== undefined && apiKey !== undefined) {
    const { openTypesenseIndex } = await import('./index/typesense/index.js');
    return { index: openTypesenseIndex({ urls, apiKey, prefix }), shared: true };
  }
  const lock = lockFolder(dataDir);
  const limits = { ...DEFAULT_LIMITS, vectors: vectorMemoryMb * 2 ** 20 };
  const index = await openSqliteIndex({ path: join(dataDir, INDEX_FILE), limits });
  const close = () => index.close().finally(() => lock.release());
  return { index: { ...index, close }, shared: false };
}
