import { createHash } from 'node:crypto';
import { createOpenApi } from '../../gateway/dist/src/openapi/document.js';
import { createRoutes } from '../../gateway/dist/src/routes.js';
import { readOperations } from './operations.mjs';

/** Returns what the SDKs are made from, and its hash, which stands in every generated file. */
export function readContract() {
  // What the operations are called with does not depend on the server's address or version.
  const document = JSON.parse(JSON.stringify(createOpenApi(createRoutes(), { title: 'API', serverVersion: '0' })));
  const contract = readOperations(document);
  const hash = createHash('sha256').update(JSON.stringify(contract)).digest('hex').slice(0, 16);
  return { ...contract, hash };
}
