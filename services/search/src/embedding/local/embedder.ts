import { type Embedder, EmbedderFailure, type TextKind } from '../port.js';
import { whileWanted } from '../signal.js';
import { type Lane, openLane } from './lane.js';
import type { LocalModel } from './model.js';

interface LocalSettings {
  /** Processor threads for documents. */
  readonly threads: number;
  /** Milliseconds without work after which a process of the model ends. */
  readonly idleMs: number;
}

/** Priority (`nice`) of the process for documents: the lowest. */
const LOWEST_PRIORITY = 19;
/** Queries have few words: handing parts of them to a second thread takes longer than it saves. */
const QUERY_THREADS = 1;
/** Texts per message to a process: enough to make its cost negligible, few enough to stop in between. */
const AT_ONCE = 8;

/**
 * Runs a model on this machine's processors. Queries and documents have a process each, so that a query never waits for
 * a document and has a higher priority. Both start with their first text and end when idle.
 */
export function openLocalEmbedder(model: LocalModel, { threads, idleMs }: LocalSettings): Embedder {
  const { folder, pooling, maxTokens, dimensions, prefixes } = model;
  const lane = (nice: number, width: number): Lane =>
    openLane({ folder, pooling, maxTokens, threads: width, nice }, idleMs);
  const lanes: Record<TextKind, Lane> = { query: lane(0, QUERY_THREADS), document: lane(LOWEST_PRIORITY, threads) };

  async function embedSome(texts: readonly string[], kind: TextKind, signal?: AbortSignal): Promise<Float32Array[]> {
    const all = await lanes[kind].embed(
      texts.map((text) => prefixes[kind] + text),
      signal,
    );
    if (all.length !== texts.length * dimensions) {
      throw new EmbedderFailure(`the model does not return ${dimensions} numbers for a text`, false);
    }
    return texts.map((_, i) => all.slice(i * dimensions, (i + 1) * dimensions));
  }

  return {
    model,
    async embed(texts, kind, signal) {
      signal?.throwIfAborted();
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += AT_ONCE) {
        vectors.push(...(await whileWanted(embedSome(texts.slice(at, at + AT_ONCE), kind, signal), signal)));
      }
      return vectors;
    },
    async close() {
      await Promise.all([lanes.query.close(), lanes.document.close()]);
    },
  };
}
