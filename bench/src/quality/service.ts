import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@commonplace/kit/log';
import type { CallContext } from '@commonplace/kit/rpc';
import { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { SearchMode, SearchRequest } from '@commonplace/proto/search/v1/search_service.js';
import { config } from '@commonplace/search/config';
import type { Embedder } from '@commonplace/search/dist/src/embedding/port.js';
import { createSearchHandlers } from '@commonplace/search/dist/src/handlers/search.js';
import type { SearchIndex } from '@commonplace/search/dist/src/index/port.js';
import { openSqliteIndex } from '@commonplace/search/dist/src/index/sqlite/index.js';
import { startEmbedding } from '@commonplace/search/dist/src/vectors/background.js';
import { createQueryEmbedder } from '@commonplace/search/dist/src/vectors/query-vector.js';
import type { Collection, Query } from './collection.js';

const MODES = { words: SearchMode.KEYWORD, meaning: SearchMode.SEMANTIC, hybrid: SearchMode.HYBRID } as const;
export type Mode = keyof typeof MODES;

/** The search service on the index of one collection. */
interface Service {
  /** Returns the ids of the documents that a search finds, best first. */
  search(query: Query, mode: Mode): Promise<readonly string[]>;
  close(): Promise<void>;
}

const WORKSPACE = 'workspace';
const AT_ONCE = 200;
const HITS = 10;

/** Indexes and embeds a collection in a folder, like the search service does. */
export async function openService(collection: Collection, embedder: Embedder, folder: string): Promise<Service> {
  mkdirSync(folder, { recursive: true });
  const index = await openSqliteIndex({ path: join(folder, 'search.db'), keepAnswers: false });
  await fill(index, collection);
  const chunkTokens = config.embeddingsChunkTokens.fallback;
  const work = startEmbedding({ index, embedder, chunkTokens, log: SILENT });
  while (work.stats().embedded < collection.documents.length) await sleep(100);
  const handlers = createSearchHandlers({
    index,
    resources: createFakeResources(),
    embedQuery: createQueryEmbedder(work.serving, 60_000),
  });
  const context = () => ({ onward: { metadata: {}, deadline: 0 }, reply: {} }) as unknown as CallContext;
  return {
    async search({ text }, mode) {
      const request = { query: text, mode: MODES[mode], page: { limit: HITS, offset: 0, cursor: '' } };
      const { items, degraded } = await handlers.search(SearchRequest.fromPartial(request), context());
      if (degraded) throw new Error(`a search by ${mode} was degraded`);
      return items.map(({ resource }) => resource?.id ?? '');
    },
    async close() {
      await work.close();
      await index.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Log;

async function fill(index: SearchIndex, { documents }: Collection): Promise<void> {
  const rebuild = await index.rebuild();
  for (let from = 0; from < documents.length; from += AT_ONCE) {
    await rebuild.add(
      documents.slice(from, from + AT_ONCE).map(({ id, title, text }) =>
        IndexEntry.fromPartial({
          id,
          tenant: 'org',
          workspaceId: WORKSPACE,
          boundaryId: WORKSPACE,
          type: ResourceType.DOCUMENT,
          name: title,
          text,
          metadataJson: '{}',
          updatedAt: '2026-01-01T00:00:00.000Z',
          version: 1,
          contentVersion: 1,
        }),
      ),
    );
  }
  await rebuild.commit();
}

/** Creates a fake of the resources service for a caller who may read everything. */
function createFakeResources(): Parameters<typeof createSearchHandlers>[0]['resources'] {
  const filter = { boundaryIds: [], principals: [], granted: [], lost: [], tagIds: [], tagTerms: [] };
  const about = { workspaceId: WORKSPACE, type: ResourceType.DOCUMENT, icon: undefined, path: [], tags: [] };
  return {
    getSearchFilter: async () => ({ ...filter, workspaceIds: [WORKSPACE], openWorkspaceIds: [WORKSPACE] }),
    checkAccess: async ({ ids }) => ({
      resources: ids.map((id) => ({
        ...about,
        id,
        name: id,
        updatedAt: undefined,
        role: ResourceRole.VIEWER,
        contentVersion: 1,
        boundaryId: WORKSPACE,
        isShared: false,
        untrusted: [],
      })),
    }),
    getShownTexts: async () => ({ texts: [] }),
    locatePlaces: async ({ places }) => ({ parts: places.map(() => ({ blockId: undefined, rowId: undefined })) }),
  };
}
