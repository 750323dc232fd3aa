import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { contracts } from '@commonplace/kit/contracts';
import type { Subscription } from '@commonplace/kit/events';
import { implement, type ServiceModule } from '@commonplace/kit/runtime';
import { config } from './config.js';
import { createIndexer, INDEXED_EVENTS } from './events.js';
import { createSearchHandlers } from './handlers/search.js';
import { openSqliteIndex } from './index/sqlite/index.js';

/** Finds resources by words in their names and contents. */
export const search: ServiceModule = {
  name: 'search',
  config,
  stores: true,
  async start(host) {
    const { indexBatch } = host.settings(config);
    const { bus, log, systemCall } = host;
    const resources = host.client(contracts.index);
    mkdirSync(host.dataDir, { recursive: true, mode: 0o700 });
    const index = await openSqliteIndex({ path: join(host.dataDir, 'search.db') });
    const indexer = createIndexer({ index, resources, systemCall, log });
    const stop = new AbortController();
    let subscription: Subscription | undefined;
    let built: Promise<void> | undefined;
    return {
      implementations: [implement(contracts.search, createSearchHandlers({ index, resources }))],
      begin: async () => {
        built = indexer.ensureBuilt(stop.signal);
        const consumer = { consumer: 'search-index', types: INDEXED_EVENTS, batch: indexBatch };
        subscription = await bus.subscribe(consumer, (events) => indexer.handle(events));
      },
      close: async () => {
        stop.abort();
        await subscription?.close();
        await built;
        await index.close();
      },
    };
  },
};
