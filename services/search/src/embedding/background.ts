import { setImmediate } from 'node:timers/promises';
import type { Log } from '@commonplace/kit/log';
import { CHUNKER_VERSION, type Chunk, chunksOf, embeddedText } from '../domain/chunks.js';
import type { ChunkVector, EntryVectors, SearchIndex, Unembedded, VectorStats } from '../index/port.js';
import { pause } from '../pause.js';
import { type Embedder, EmbedderFailure, type EmbeddingModel } from './port.js';

export interface EmbeddingParts {
  readonly index: SearchIndex;
  /** The model that everything is to be embedded with. */
  readonly embedder: Embedder;
  /** Models that are still to be had; the vectors that are left of one serve until the other's are complete. */
  readonly former?: readonly Embedder[];
  /** Tokens of one chunk. */
  readonly chunkTokens: number;
  readonly log: Log;
}

/** The vectors that answer questions now. */
export interface Serving {
  readonly embedder: Embedder;
  /** The id under which the index has them. */
  readonly model: string;
  /** Whether most entries have them. */
  readonly complete: boolean;
}

/** Embeds what the index holds, behind everything else that goes on. */
export interface EmbeddingWork {
  /** Says that entries may have changed. */
  wake(): void;
  /** Undefined while there are no vectors to ask. */
  serving(): Serving | undefined;
  /** How far it is; as it was when the last batch was done. */
  stats(): VectorStats;
  /** Ends when the batch at hand is given up. */
  close(): Promise<void>;
}

/** Entries taken from the index at once, and texts given to the model at once. */
const ENTRIES_AT_ONCE = 16;
const TEXTS_AT_ONCE = 16;
/** Texts after which vectors are put, so that what has changed meanwhile comes next. */
const TEXTS_PER_PUT = 32;
const RETRY_MS = [1000, 5000, 15_000, 60_000] as const;
/** Where asking again is said not to help, somebody may still mend it. */
const HOPELESS_MS = 600_000;
/** Vectors are called complete while fewer entries than this part lack them. */
const LACKING = 0.1;

/** What the index calls a model: other chunks are other vectors. */
export function indexedModel(model: EmbeddingModel, chunkTokens: number): EmbeddingModel {
  return { ...model, id: `${model.id}|${CHUNKER_VERSION}.${chunkTokens}` };
}

/** Starts to embed. It sleeps until it is woken when nothing is left to do. */
export function startEmbedding(parts: EmbeddingParts): EmbeddingWork {
  const { index, embedder, former = [], chunkTokens, log } = parts;
  const stop = new AbortController();
  const model = indexedModel(embedder.model, chunkTokens);
  let stats: VectorStats = { embedded: 0, pending: 0, chunks: 0 };
  let old: Serving | undefined;
  let wakeUp: (() => void) | undefined;
  let woken = true;

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
        const wait = hopeless ? HOPELESS_MS : (RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] as number);
        log.warn('embedding.failed', { error, retryInSeconds: wait / 1000 });
        failures++;
        await pause(wait, stop.signal);
      }
    }
  }

  /** Embeds all that is left, then sleeps until more may be. */
  async function advance(): Promise<void> {
    woken = false;
    stats = await index.vectorStats(model.id);
    if (stats.pending > 0 && old === undefined) old = await servingOld();
    for (let last = ''; ; ) {
      const needy = await index.unembedded(model.id, ENTRIES_AT_ONCE);
      if (needy.length === 0) break;
      const these = needy.map(({ id, textHash }) => `${id} ${textHash}`).join();
      if (these === last) throw new Error('the index does not take the vectors');
      last = these;
      await index.putVectors(model, await embedEntries(parts, needy, stop.signal));
      stats = await index.vectorStats(model.id);
    }
    if (stats.embedded > 0) await dropOld();
    await sleep();
  }

  async function servingOld(): Promise<Serving | undefined> {
    const held = new Set((await index.models()).map(({ id }) => id));
    for (const one of former) {
      const { id } = indexedModel(one.model, chunkTokens);
      if (id !== model.id && held.has(id)) return { embedder: one, model: id, complete: true };
    }
    return undefined;
  }

  /** The vectors of all other models, once this one's are complete. */
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
      wakeUp?.();
      wakeUp = undefined;
    },
    serving() {
      if (old !== undefined) return old;
      const { embedded, pending } = stats;
      if (embedded === 0) return undefined;
      return { embedder, model: model.id, complete: pending <= LACKING * (embedded + pending) };
    },
    stats: () => stats,
    async close() {
      stop.abort();
      wakeUp?.();
      await done;
    },
  };
}

/** The vectors of the first entries, of some or all. A text on which the model fails by itself has none. */
async function embedEntries(
  parts: EmbeddingParts,
  entries: readonly Unembedded[],
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
  { embedder, chunkTokens }: EmbeddingParts,
  entries: readonly Unembedded[],
  signal: AbortSignal,
): Promise<EntryVectors[]> {
  const chunked: { readonly entry: Unembedded; readonly chunks: readonly Chunk[] }[] = [];
  const texts: string[] = [];
  for (const entry of entries) {
    const chunks = chunksOf(entry, chunkTokens);
    chunked.push({ entry, chunks });
    for (const chunk of chunks) texts.push(embeddedText(entry, chunk));
    if (texts.length >= TEXTS_PER_PUT) break;
    // A long text takes a while: what waits goes first.
    await setImmediate();
  }
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += TEXTS_AT_ONCE) {
    const some = embedder.embed(texts.slice(at, at + TEXTS_AT_ONCE), 'document', signal);
    vectors.push(...(await unlessAborted(some, signal)));
  }
  let next = 0;
  return chunked.map(({ entry: { id, textHash }, chunks }) => ({
    id,
    textHash,
    chunks: chunks.map(({ start, end }): ChunkVector => ({ start, end, vector: vectors[next++] as Float32Array })),
  }));
}

/** What a promise gives, or the signal's reason as soon as there is one: nobody waits for a model that hangs. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
