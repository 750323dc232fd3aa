import type { EntryState, InspectedIndex } from '../port.js';
import type { Server } from './client.js';
import { among, both, type Filter, lessThan } from './filter.js';
import { allOf, documentsById, PAGE } from './lookup.js';
import { tokenValue, valueToken } from './tokens.js';
import { MAX_RANDOM } from './write.js';

const PRESENT = 'gone:!=true' as Filter;
/** Maximum number of workspaces that are counted. */
const MAX_WORKSPACES = 100_000;
const STATE_FIELDS = 'entry,workspace,boundary,version,content_version,updated_at';

/** Creates the inspection of an index; `ready` is awaited before each query. */
export function createInspection(server: Server, collection: string, ready: () => Promise<void>): InspectedIndex {
  return {
    async counts() {
      await ready();
      const facet = { facet_by: 'workspace', max_facet_values: MAX_WORKSPACES };
      const [found] = await server.search([{ collection, q: '*', filter_by: PRESENT, per_page: 0, ...facet }]);
      const counts = (found?.facets.get('workspace') ?? []).flatMap(([token, count]) => {
        const id = tokenValue(token);
        return id === undefined ? [] : [[id, count] as const];
      });
      return new Map(counts);
    },
    async states(ids) {
      await ready();
      const found = await documentsById(server, collection, ids.map(valueToken), STATE_FIELDS);
      const held = [...found.values()].filter(({ version }) => version !== undefined);
      return new Map(held.map((document) => [String(document.entry), stateIn(document)]));
    },
    async idsOf(workspaceId) {
      await ready();
      const filter = among('workspace', [valueToken(workspaceId)]);
      const search = { collection, q: '*', filter_by: filter, sort_by: 'chance:asc', include_fields: 'entry' };
      return (await allOf(server, search)).map(({ entry }) => String(entry));
    },
    async sample(count) {
      await ready();
      const order = { sort_by: 'chance:asc', include_fields: 'entry', per_page: Math.min(count, PAGE) };
      const start = Math.floor(Math.random() * MAX_RANDOM);
      const behind = both(PRESENT, `chance:>=${start}` as Filter);
      const before = both(PRESENT, lessThan('chance', start));
      const found = await server.search(
        [behind, before].map((filter) => ({ collection, q: '*', filter_by: filter, ...order })),
      );
      return found.flatMap(({ hits }) => hits.map(({ document }) => String(document.entry))).slice(0, count);
    },
  };
}

function stateIn(document: Record<string, unknown>): EntryState {
  return {
    workspaceId: tokenValue(String(document.workspace)) ?? '',
    boundaryId: tokenValue(String(document.boundary)) ?? '',
    version: Number(document.version),
    contentVersion: Number(document.content_version),
    updatedAt: String(document.updated_at),
  };
}
