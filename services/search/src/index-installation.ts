import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type IdentifiedStore, openMarkFile } from '@commonplace/kit/installation';

/** File of the index in the data directory. */
export const INDEX_FILE = 'search.db';

/** Holds the settings that determine where the index is. */
interface IndexPlace {
  readonly typesenseUrl: readonly string[] | undefined;
  readonly typesenseApiKey: string | undefined;
  readonly typesensePrefix: string;
}

/** Opens the configured index as a store that carries the id of its installation. */
export async function openIndexInstallation(
  { typesenseUrl: urls, typesenseApiKey: apiKey, typesensePrefix: prefix }: IndexPlace,
  dataDir: string,
): Promise<IdentifiedStore> {
  if (urls !== undefined && apiKey !== undefined) {
    const { openTypesenseInstallation } = await import('./index/typesense/installation.js');
    return openTypesenseInstallation({ urls, apiKey, prefix });
  }
  const file = join(dataDir, INDEX_FILE);
  const isEmpty = async () => !existsSync(file);
  return openMarkFile({ kind: 'index', place: `the index ${file}`, file: `${file}.installation.json`, isEmpty });
}
