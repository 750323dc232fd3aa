import { ConfigError, type Values } from '@commonplace/kit/config';
import { openGuard } from '@commonplace/kit/fetch';
import { openLocalEmbedder } from './embedding/local/embedder.js';
import { bundledFolder, type LocalModel, readModel } from './embedding/local/model.js';
import { openOpenAiEmbedder } from './embedding/openai/embedder.js';
import type { Embedder } from './embedding/port.js';
import type { embeddingSettings } from './embedding/settings.js';
import { type WatchedEmbedder, watchEmbedder } from './embedding/watched.js';

/** Holds the available models. */
export interface Embedders {
  /** Model that all entries are embedded with. */
  readonly current: WatchedEmbedder;
  /** Where it runs: `local`, or the kind of API. */
  readonly provider: string;
  /** Other models that the index may have vectors of, which are used until those of the current one are complete. */
  readonly former: readonly Embedder[];
  close(): Promise<void>;
}

type EmbeddingSettings = Values<typeof embeddingSettings>;

const TIMEOUT_MS = 30_000;
const RETRIES = 3;

/**
 * Opens the configured embedders; returns undefined when semantic search is off. The bundled model stays available
 * besides another one: its vectors are used until the other's are complete. It starts no process and calls nothing.
 * Throws `ConfigError`.
 */
export function openEmbedders(settings: EmbeddingSettings): Embedders | undefined {
  const opened = openEmbedder(settings);
  if (opened === undefined) return undefined;
  const current = watchEmbedder(opened);
  const provider = settings.embeddings === 'local' ? 'local' : 'openai_compatible';
  const bundled = openLocal(undefined, settings);
  const former = bundled.model.id === current.model.id ? [] : [bundled];
  const close = async () => void (await Promise.all([current, ...former].map((embedder) => embedder.close())));
  return { current, provider, former, close };
}

/**
 * Opens the configured embedder; returns undefined when semantic search is off. It starts no process and calls nothing.
 * Throws `ConfigError`.
 */
export function openEmbedder(settings: EmbeddingSettings): Embedder | undefined {
  if (settings.embeddings === 'off') return undefined;
  if (settings.embeddings !== 'local') return openRemote(settings.embeddings, settings);
  return openLocal(settings.embeddingsFolder, settings);
}

function openLocal(folder: string | undefined, settings: EmbeddingSettings): Embedder {
  const { embeddingsThreads: threads, embeddingsIdleSeconds } = settings;
  return openLocalEmbedder(localModel(folder), { threads, idleMs: embeddingsIdleSeconds * 1000 });
}

function localModel(folder: string | undefined): LocalModel {
  try {
    return readModel(folder ?? bundledFolder());
  } catch (error) {
    throw new ConfigError([`COMMONPLACE_EMBEDDINGS_FOLDER contains no valid model: ${(error as Error).message}`]);
  }
}

function openRemote(url: string, settings: EmbeddingSettings): Embedder {
  const { embeddingsModel: model, embeddingsDimensions: dimensions } = settings;
  if (model === undefined || dimensions === undefined) {
    throw new ConfigError([
      'COMMONPLACE_EMBEDDINGS is a URL: set COMMONPLACE_EMBEDDINGS_MODEL and COMMONPLACE_EMBEDDINGS_DIMENSIONS too',
    ]);
  }
  const { embeddingsKey: apiKey, embeddingsMaxTokens: maxTokens, embeddingsBatch: batch } = settings;
  // The operator has configured the host, which may be in a private network.
  const guard = openGuard({ allowlist: [new URL(url).hostname.replace(/^\[|\]$/g, '')] });
  return openOpenAiEmbedder(
    { url, apiKey, model, dimensions, maxTokens, batch, timeoutMs: TIMEOUT_MS, retries: RETRIES },
    guard,
  );
}
