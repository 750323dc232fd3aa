import { contracts } from '@commonplace/kit/contracts';
import type { Subscription } from '@commonplace/kit/events';
import { type Host, implement, type ServiceModule } from '@commonplace/kit/runtime';
import { config } from './config.js';
import { type EmbeddingWork, startEmbedding } from './embedding/background.js';
import { type Embedders, openEmbedders } from './embedding/open.js';
import { createQueryEmbedder } from './embedding/query-vector.js';
import { createIndexer, INDEXED_EVENTS } from './events.js';
import { createEntryHandlers } from './handlers/entries.js';
import { createModelHandlers } from './handlers/models.js';
import { createSearchHandlers } from './handlers/search.js';
import { openIndex } from './index/open.js';
import { observeIndexLag } from './signals.js';
import { CONSUMER, startUpkeep } from './upkeep/index.js';

/** Gives the models; undefined where embeddings are off. */
export type OpenEmbedders = (host: Host) => Embedders | undefined | Promise<Embedders | undefined>;

/** Finds resources by words in their names and contents, and by what their contents mean. */
export function searchService(open: OpenEmbedders): ServiceModule {
  return { name: 'search', config, stores: true, start: (host) => start(host, open) };
}

export const search: ServiceModule = searchService((host) => openEmbedders(host.settings(config)));

async function start(host: Host, open: OpenEmbedders): ReturnType<ServiceModule['start']> {
  const settings = host.settings(config);
  const { indexBatch, chunkTokens, queryTimeoutMs } = settings;
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
  const embedQuery = createQueryEmbedder(embedders && (() => embedding?.serving()), queryTimeoutMs);
  let subscription: Subscription | undefined;
  let built: Promise<void> | undefined;
  let unobserve = () => {};
  return {
    implementations: [
      implement(contracts.search, createSearchHandlers({ index, resources, embedQuery })),
      implement(contracts.entries, createEntryHandlers(index)),
      implement(contracts.models, createModelHandlers(embedders)),
      upkeep.implementation(indexer),
    ],
    begin: async () => {
      built = indexer.ensureBuilt(stop.signal);
      const consumer = { consumer: CONSUMER, types: INDEXED_EVENTS, batch: indexBatch };
      unobserve = observeIndexLag(indexer);
      subscription = await bus.subscribe(consumer, (events) => indexer.handle(events));
      upkeep.begin(indexer);
      if (embedders === undefined) return;
      const { current: embedder, former } = embedders;
      embedding = startEmbedding({ index, embedder, former, chunkTokens, log });
    },
    close: async () => {
      stop.abort();
      unobserve();
      await subscription?.close();
      await upkeep.close();
      await embedding?.close();
      await built;
      await embedders?.close();
      await index.close();
    },
  };
}
