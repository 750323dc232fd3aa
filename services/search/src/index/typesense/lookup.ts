import type { Document, Search, Server } from './client.js';
import { among } from './filter.js';
import type { Token } from './tokens.js';

/** Hits that Typesense returns at once. */
export const PAGE = 250;

/** Returns documents by id, with some of their fields. */
export async function documentsById(
  server: Server,
  collection: string,
  ids: readonly Token[],
  fields: string,
): Promise<Map<string, Document>> {
  const searches: Search[] = [];
  for (let at = 0; at < ids.length; at += PAGE) {
    const filter = among('id', ids.slice(at, at + PAGE));
    searches.push({ collection, q: '*', filter_by: filter, include_fields: `id,${fields}`, per_page: PAGE });
  }
  const found = await server.search(searches);
  return new Map(found.flatMap(({ hits }) => hits.map(({ document }) => [document.id, document] as const)));
}

/** Returns everything that a search finds, up to a limit. */
export async function allOf(server: Server, search: Search, limit = Number.POSITIVE_INFINITY): Promise<Document[]> {
  const documents: Document[] = [];
  const size = Math.min(PAGE, limit);
  for (let page = 1; documents.length < limit; page++) {
    const [found] = await server.search([{ ...search, per_page: size, page }]);
    documents.push(...(found?.hits.map(({ document }) => document) ?? []));
    if (found === undefined || found.hits.length < size) break;
  }
  return documents.slice(0, limit);
}

/** Tokens that certainly fit into a URL. */
const MAX_URL_TOKENS = 40;

export async function deleteAll(server: Server, collection: string, field: string, tokens: readonly Token[]) {
  for (let at = 0; at < tokens.length; at += MAX_URL_TOKENS) {
    await server.deleteWhere(collection, among(field, tokens.slice(at, at + MAX_URL_TOKENS)));
  }
}
