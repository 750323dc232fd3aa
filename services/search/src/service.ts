import { contracts } from '@commonplace/platform/contracts';
import { defineService, type Host, implement, type ServiceModule } from '@commonplace/platform/runtime';
import { config } from './config.js';
import { createIndexer, INDEXED_EVENTS } from './events.js';
import { createEmbeddingModelHandlers } from './handlers/embedding-models.js';
import { createEntryHandlers } from './handlers/entries.js';
import { createSearchHandlers } from './handlers/search.js';
import { openIndexInstallation } from './index-installation.js';
import { type Embedders, openEmbedders } from './open-embedders.js';
import { openIndex } from './open-index.js';
import { observeIndexLag } from './signals.js';
import { CONSUMER, startUpkeep } from './upkeep/index.js';
import { openRebuilds } from './upkeep/rebuild-requests.js';
import { createUsageRecorder } from './usage/recorder.js';
import { type EmbeddingWork, startEmbedding } from './vectors/background.js';
import { createQueryEmbedder } from './vectors/query-vector.js';

type SearchHost = Host<typeof contracts.index | typeof contracts.metering>;

/** Opens the models; undefined when embeddings are off. */
type OpenEmbedders = (host: Pick<Host, 'settings'>) => Embedders | undefined | Promise<Embedders | undefined>;

/**
 * Defines the service that finds resources by the words in their names and contents, and by the meaning of their
 * contents.
 */
function searchService(open: OpenEmbedders): ServiceModule {
  return defineService({
    name: 'search',
    config,
    stores: true,
    storesFiles: true,
    calls: [contracts.index, contracts.metering],
    reachesInternet: true,
    boundStores: async ({ settings, dataDir }) => [await openIndexInstallation(settings(config), dataDir)],
    start: (host) => start(host, open),
  });
}

export const search: ServiceModule = searchService((host) => openEmbedders(host.settings(config)));

async function start(host: SearchHost, open: OpenEmbedders): ReturnType<ServiceModule['start']> {
  const settings = host.settings(config);
  const { indexBatch, embeddingsChunkTokens: chunkTokens, embeddingsQueryMs } = settings;
  const { bus, log, systemCall } = host;
  const resources = host.client(contracts.index);
  const opened = await openIndex(settings, host.dataDir);
  const upkeep = startUpkeep(host, opened, settings.indexCheckMinutes);
  const { index } = upkeep;
  const embedders = await open(host);
  let embedding: EmbeddingWork | undefined;
  const stop = new AbortController();
  const changed = (): void => embedding?.wake();
  const indexer = createIndexer({ index, resources, systemCall, log, changed, signal: stop.signal });
  const rebuilds = await openRebuilds(host, indexer);
  const usage = createUsageRecorder({ metering: host.client(contracts.metering), systemCall, log });
  const embedQuery = createQueryEmbedder(embedders && (() => embedding?.serving()), embeddingsQueryMs);
  let built: Promise<void> | undefined;
  return {
    implementations: [
      implement(contracts.search, createSearchHandlers({ index, resources, embedQuery, usage })),
      implement(contracts.entries, createEntryHandlers(index)),
      implement(contracts.embeddingModels, createEmbeddingModelHandlers(embedders)),
      upkeep.implementation(indexer),
    ],
    runs: [
      index,
      { close: embedders?.close },
      usage,
      {
        begin() {
          built = indexer.ensureBuilt(stop.signal);
        },
        drain: () => stop.abort(),
        close: () => built,
      },
      { close: observeIndexLag(indexer) },
      {
        begin() {
          if (embedders === undefined) return;
          const { current: embedder, former } = embedders;
          embedding = startEmbedding({
            ...{ index, embedder, former, chunkTokens, log },
            count: (tenant, counted, model) =>
              usage.add({ tenant, workspaceId: tenant, feature: 'embedding', model }, counted),
          });
        },
        close: () => embedding?.close(),
      },
      { begin: () => upkeep.begin(indexer), close: upkeep.close },
      rebuilds,
    ],
    consume: () => [
      bus.subscribe({ consumer: CONSUMER, types: INDEXED_EVENTS, batch: indexBatch }, (events) =>
        indexer.handle(events),
      ),
    ],
  };
}
