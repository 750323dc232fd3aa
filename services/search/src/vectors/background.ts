import { setImmediate } from 'node:timers/promises';
import type { Log } from '@commonplace/kit/log';
import { continuingAll, traceparentNow } from '@commonplace/kit/telemetry';
import { CHUNKER_VERSION, type Chunk, chunksOf, embeddedText } from '../domain/chunks.js';
import { type CountedTokens, type Embedder, EmbedderFailure, type EmbeddingModel } from '../embedding/port.js';
import type { ChunkVector, EntryVectors, SearchIndex, UnembeddedEntry, VectorStats } from '../index/port.js';
import { pause } from '../pause.js';
import { createKnownPassages, type KnownPassages } from './known-passages.js';

interface EmbeddingParts {
  readonly index: SearchIndex;
  /** Model that all entries are to be embedded with. */
  readonly embedder: Embedder;
  /**
   * Former models that are still available. Until the vectors of `embedder` are complete, remaining ones of it with other
   * chunks are used, or of one of these models.
   */
  readonly former?: readonly Embedder[];
  readonly chunkTokens: number;
  readonly log: Log;
  /** Called with the tokens of a workspace's texts that were sent to a provider. */
  readonly count?: (workspaceId: string, counted: CountedTokens, model: string) => void;
}

/** Describes the vectors that answer queries at present. */
export interface ServingModel {
  readonly embedder: Embedder;
  /** Id of the model in the index. */
  readonly model: string;
  /** Whether most entries have vectors. */
  readonly complete: boolean;
}

/** Embeds the entries of the index in the background. */
export interface EmbeddingWork {
  /** Reports that entries may have changed. The next pass is traced as caused by the current request. */
  wake(): void;
  /** Returns undefined while there are no vectors to search. */
  serving(): ServingModel | undefined;
  /** Returns the progress after the last batch. */
  stats(): VectorStats;
  /** Aborts the current batch and resolves when the work has stopped. */
  close(): Promise<void>;
}

/** Entries taken from the index at once, and texts passed to the model at once. */
const ENTRIES_PER_BATCH = 16;
const TEXTS_PER_BATCH = 16;
/** Texts after which vectors are stored, so that recently changed entries are handled next. */
const TEXTS_PER_PUT = 32;
const RETRY_MS = [1000, 5000, 15_000, 60_000] as const;
/** Milliseconds until a retry after a failure that is not retryable, because an operator may fix it. */
const PERMANENT_RETRY_MS = 600_000;
/** Maximum number of requests that one pass is traced for. */
const MAX_CAUSES = 32;
/** Share of entries without vectors up to which the vectors count as complete. */
const MAX_MISSING_SHARE = 0.1;

/**
 * Returns the model under the id that the index uses, which includes the version and size of the chunks: other chunks
 * have other vectors.
 */
export function indexedModel(model: EmbeddingModel, chunkTokens: number): EmbeddingModel {
  return { ...model, id: `${model.id}|${CHUNKER_VERSION}.${chunkTokens}` };
}

/** Returns whether an id in the index is that of a model, with chunks of any version and size. */
function isOf({ id }: EmbeddingModel, indexed: string): boolean {
  return indexed.slice(0, indexed.lastIndexOf('|')) === id;
}

/** Starts embedding. It sleeps until `wake` is called when nothing is left to do. */
export function startEmbedding(parts: EmbeddingParts): EmbeddingWork {
  const { index, embedder, former = [], chunkTokens, log } = parts;
  const known = createKnownPassages();
  const stop = new AbortController();
  const model = indexedModel(embedder.model, chunkTokens);
  let stats: VectorStats = { embedded: 0, pending: 0, chunks: 0 };
  let old: ServingModel | undefined;
  let wakeUp: (() => void) | undefined;
  let woken = true;
  /** Trace contexts of the requests since the last pass that changed entries. */
  let causes: string[] = [];

  function sleep(): Promise<void> {
    return new Promise((resolve) => {
      if (woken || stop.signal.aborted) resolve();
      else wakeUp = resolve;
    });
  }

  async function run(): Promise<void> {
    for (let failures = 0; !stop.signal.aborted; ) {
      try {
        await advance();
        failures = 0;
      } catch (error) {
        if (stop.signal.aborted) return;
        const hopeless = error instanceof EmbedderFailure && !error.retryable;
        const wait = hopeless ? PERMANENT_RETRY_MS : (RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] as number);
        log.warn('embedding.failed', { error, retryInSeconds: wait / 1000 });
        failures++;
        await pause(wait, stop.signal);
      }
    }
  }

  /** Embeds everything that is pending, then sleeps until there may be more. */
  async function advance(): Promise<void> {
    woken = false;
    const traceparents = causes;
    causes = [];
    await continuingAll(traceparents, 'embed entries', {}, embedPending);
    await sleep();
  }

  async function embedPending(): Promise<void> {
    stats = await index.vectorStats(model.id);
    if (stats.pending > 0 && old === undefined) old = await servingOld();
    for (let last = ''; ; ) {
      const needy = await index.unembedded(model.id, ENTRIES_PER_BATCH);
      if (needy.length === 0) break;
      const these = needy.map(({ id, textHash }) => `${id} ${textHash}`).join();
      if (these === last) throw new Error('the index does not accept the vectors');
      last = these;
      await index.putVectors(model, await embedEntries({ ...parts, known }, needy, stop.signal));
      stats = await index.vectorStats(model.id);
    }
    if (stats.embedded > 0) await dropOld();
  }

  async function servingOld(): Promise<ServingModel | undefined> {
    const held = (await index.models()).map(({ id }) => id).filter((id) => id !== model.id);
    for (const one of [embedder, ...former]) {
      const id = held.find((other) => isOf(one.model, other));
      if (id !== undefined) return { embedder: one, model: id, complete: true };
    }
    return undefined;
  }

  /** Deletes the vectors of all other models, once those of the current one are complete. */
  async function dropOld(): Promise<void> {
    old = undefined;
    for (const { id } of await index.models()) {
      if (id === model.id) continue;
      await index.dropVectors(id);
      log.info('embedding.model_dropped', { model: id });
    }
  }

  const done = run();
  return {
    wake() {
      woken = true;
      const cause = traceparentNow();
      if (cause !== undefined && causes.length < MAX_CAUSES) causes.push(cause);
      wakeUp?.();
      wakeUp = undefined;
    },
    serving() {
      if (old !== undefined) return old;
      const { embedded, pending } = stats;
      if (embedded === 0) return undefined;
      return { embedder, model: model.id, complete: pending <= MAX_MISSING_SHARE * (embedded + pending) };
    },
    stats: () => stats,
    async close() {
      stop.abort();
      wakeUp?.();
      await done;
    },
  };
}

interface BatchParts extends EmbeddingParts {
  readonly known: KnownPassages;
}

/** Embeds the first or all of some entries. An entry that the model fails on gets no vectors. */
async function embedEntries(
  parts: BatchParts,
  entries: readonly UnembeddedEntry[],
  signal: AbortSignal,
): Promise<EntryVectors[]> {
  try {
    return await embedTogether(parts, entries, signal);
  } catch (error) {
    if (error instanceof EmbedderFailure || signal.aborted) throw error;
    if (entries.length > 1) {
      const each: EntryVectors[] = [];
      for (const entry of entries) each.push(...(await embedEntries(parts, [entry], signal)));
      return each;
    }
    parts.log.error('embedding.entry_failed', { error, id: entries[0]?.id });
    return entries.map(({ id, textHash }) => ({ id, textHash, chunks: [] }));
  }
}

async function embedTogether(
  { embedder, chunkTokens, count, known }: BatchParts,
  entries: readonly UnembeddedEntry[],
  signal: AbortSignal,
): Promise<EntryVectors[]> {
  const chunked: { readonly entry: UnembeddedEntry; readonly chunks: readonly Chunk[] }[] = [];
  const texts: string[] = [];
  const workspaceIds: string[] = [];
  for (const entry of entries) {
    const chunks = chunksOf(entry, chunkTokens);
    chunked.push({ entry, chunks });
    for (const chunk of chunks) {
      texts.push(embeddedText(entry, chunk));
      workspaceIds.push(entry.workspaceId);
    }
    if (texts.length >= TEXTS_PER_PUT) break;
    // Chunking a long text takes a while, so other pending work runs in between.
    await setImmediate();
  }
  const vectors = await known.vectorsOf(texts, TEXTS_PER_BATCH, (these, indices) => {
    const owners = indices.map((i) => workspaceIds[i] as string);
    const some = embedder.embed(these, 'document', signal, (counted) => {
      const shares = shareTokens(counted.tokens, these, owners);
      for (const [id, tokens] of shares) count?.(id, { ...counted, tokens }, embedder.model.name);
    });
    return unlessAborted(some, signal);
  });
  let next = 0;
  return chunked.map(({ entry: { id, textHash }, chunks }) => ({
    id,
    textHash,
    chunks: chunks.map(({ start, end }): ChunkVector => ({ start, end, vector: vectors[next++] as Float32Array })),
  }));
}

/** Returns a promise's result, or rejects with the signal's reason as soon as it aborts, even if the model hangs. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Divides the tokens of a request among the workspaces of its texts, by the length of these. */
export function shareTokens(
  tokens: number,
  texts: readonly string[],
  workspaceIds: readonly string[],
): Map<string, number> {
  const lengths = new Map<string, number>();
  for (const [at, text] of texts.entries()) {
    const id = workspaceIds[at] ?? '';
    lengths.set(id, (lengths.get(id) ?? 0) + text.length);
  }
  const whole = texts.reduce((sum, text) => sum + text.length, 0);
  const shares = new Map<string, number>();
  let [length, shared] = [0, 0];
  for (const [id, own] of lengths) {
    length += own;
    const upTo = whole === 0 ? tokens : Math.round((tokens * length) / whole);
    shares.set(id, upTo - shared);
    shared = upTo;
  }
  return shares;
}
