import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openServer, type ServerOptions } from '../../src/index/typesense/client.js';

/** The vendor's OpenAPI description, if the test data is available. */
export const DESCRIPTION = join(
  process.env.COMMONPLACE_TEST_DATA ?? join(dirname(fileURLToPath(import.meta.url)), '../../../../../../shared/data'),
  'typesense-openapi.yml',
);

/** Returns the server for tests. */
export function typesense(): ServerOptions {
  const { COMMONPLACE_TYPESENSE_URL: url, COMMONPLACE_TYPESENSE_API_KEY: apiKey } = process.env;
  if (!url || !apiKey) {
    throw new Error('COMMONPLACE_TYPESENSE_URL and _API_KEY are not set: node scripts/with-servers.mjs sets them');
  }
  return { urls: [url], apiKey };
}

/** Deletes the collections of a test. */
export async function dropCollections(prefix: string): Promise<void> {
  const server = openServer(typesense());
  for (const alias of (await server.aliases()).keys()) if (alias.startsWith(`${prefix}-`)) await server.unpoint(alias);
  for (const name of (await server.collections()).keys()) if (name.startsWith(`${prefix}-`)) await server.drop(name);
  server.close();
}
