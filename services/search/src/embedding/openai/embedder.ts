import { type OpenGuard, openAiOptions } from '@commonplace/kit/fetch';
import type OpenAI from 'openai';
import { type CountTokens, type Embedder, EmbedderFailure, type EmbeddingModel } from '../port.js';
import { whileWanted } from '../signal.js';
import { failureOf } from './failure.js';
import { tokensOf } from './tokens.js';
import { vectorsOf } from './vectors.js';

export interface OpenAiSettings {
  /** Base URL, to which `/embeddings` is appended: `https://api.openai.com/v1`. */
  readonly url: string;
  /** Sent as bearer token; undefined when the endpoint needs none. */
  readonly apiKey: string | undefined;
  readonly model: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  /** Texts per request. */
  readonly batch: number;
  /** Milliseconds per attempt. */
  readonly timeoutMs: number;
  /** Attempts after the first, with backoff or after the delay that the endpoint requests. */
  readonly retries: number;
}

/** Characters of a text per token that are sent. */
const CHARACTERS_PER_TOKEN = 3;
/** Bytes of a response beyond which it is refused; 2,048 vectors of 4,096 numbers take less as text. */
const MAX_RESPONSE_BYTES = 128 * 1024 * 1024;
/** Replaces a text without characters, which the API rejects. */
const NOTHING = '-';

/** Embeds texts by an endpoint with OpenAI's embeddings API, which many servers and vendors offer. */
export function openOpenAiEmbedder(settings: OpenAiSettings, guard: OpenGuard): Embedder {
  const { model: name, dimensions, maxTokens, batch } = settings;
  const model: EmbeddingModel = { id: `${name}:${dimensions}`, name, dimensions, maxTokens };
  const stop = new AbortController();
  let client: Promise<OpenAI> | undefined;
  // Most models have vectors of a fixed length; the endpoint is asked for a length only after it has returned longer
  // ones.
  let shorten = false;

  async function ask(input: string[], signal: AbortSignal, count: CountTokens | undefined): Promise<Float32Array[]> {
    client ??= openClient(settings, guard);
    const parameters = { model: name, input, encoding_format: 'float' as const };
    const answer = await (await client).embeddings.create(shorten ? { ...parameters, dimensions } : parameters, {
      signal,
    });
    count?.(tokensOf(answer, input));
    const vectors = vectorsOf(answer, input.length);
    const longer = vectors.some(({ length }) => length > dimensions);
    if (longer && !shorten) {
      shorten = true;
      return ask(input, signal, count);
    }
    const other = vectors.find(({ length }) => length !== dimensions);
    if (other === undefined) return vectors;
    throw new EmbedderFailure(`${name} returns ${other.length} numbers for a text, not ${dimensions}`, false);
  }

  async function embedSome(
    texts: readonly string[],
    signal: AbortSignal | undefined,
    count: CountTokens | undefined,
  ): Promise<Float32Array[]> {
    if (stop.signal.aborted) throw new EmbedderFailure('the embedder is closed', false);
    const input = texts.map((text) => plain(text, maxTokens));
    const ends = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    try {
      return await ask(input, ends, count);
    } catch (error) {
      signal?.throwIfAborted();
      throw failureOf(error);
    }
  }

  return {
    model,
    async embed(texts, _kind, signal, count) {
      signal?.throwIfAborted();
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += batch) {
        vectors.push(...(await whileWanted(embedSome(texts.slice(at, at + batch), signal, count), signal)));
      }
      return vectors;
    },
    async close() {
      stop.abort();
      await guard.close();
    },
  };
}

/** Loads the library with the first text, because most installations never need it. */
async function openClient(settings: OpenAiSettings, guard: OpenGuard): Promise<OpenAI> {
  const { default: Client } = await import('openai');
  return new Client(openAiOptions(settings, guard, { maxBytes: MAX_RESPONSE_BYTES }));
}

function plain(text: string, maxTokens: number): string {
  const head = text
    .slice(0, maxTokens * CHARACTERS_PER_TOKEN)
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replaceAll('\0', ' ');
  return head.trim() === '' ? NOTHING : head;
}
