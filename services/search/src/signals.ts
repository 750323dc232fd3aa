import { gauge } from '@commonplace/kit/telemetry';
import type { Indexer } from './events.js';

const lag = gauge('search.index.lag', 's', 'Age of the oldest reported change that is not in the index.');

/** Reports how far the index lags behind as a metric. Returns a function that stops it. */
export function observeIndexLag(indexer: Pick<Indexer, 'lag'>): () => void {
  return lag.observe(() => [{ attributes: {}, value: indexer.lag() / 1000 }]);
}
