import type { Guard } from '@commonplace/kit/fetch';
import type OpenAI from 'openai';
import { type Embedder, EmbedderFailure, type EmbeddingModel } from '../port.js';
import { whileWanted } from '../signal.js';
import { failureOf } from './failure.js';
import { guardedFetch } from './guarded-fetch.js';
import { vectorsOf } from './vectors.js';

export interface OpenAiSettings {
  /** What `/embeddings` is put behind: `https://api.openai.com/v1`. */
  readonly url: string;
  /** Sent as bearer token; none where the endpoint asks for none. */
  readonly apiKey: string | undefined;
  readonly model: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  /** Texts of one request. */
  readonly batch: number;
  /** Milliseconds for one try. */
  readonly timeoutMs: number;
  /** Tries after the first, each later than the one before or when the endpoint says. */
  readonly retries: number;
}

/** Characters of a text per token that are sent; fewer are a token in no script that models are made for. */
const CHARACTERS_PER_TOKEN = 3;
/** Stands for a text without characters, which the API refuses. */
const NOTHING = '-';

/** Any endpoint that speaks OpenAI's embeddings API, which many servers and vendors do. */
export function openOpenAiEmbedder(settings: OpenAiSettings, guard: Guard): Embedder {
  const { model: name, dimensions, maxTokens, batch } = settings;
  const model: EmbeddingModel = { id: `${name}:${dimensions}`, name, dimensions, maxTokens };
  const stop = new AbortController();
  let client: Promise<OpenAI> | undefined;
  // Most models have one length; those that can be shortened are asked to once they gave more.
  let shorten = false;

  async function ask(input: string[], signal: AbortSignal): Promise<Float32Array[]> {
    client ??= openClient(settings, guard);
    const parameters = { model: name, input, encoding_format: 'float' as const };
    const answer = await (await client).embeddings.create(shorten ? { ...parameters, dimensions } : parameters, {
      signal,
    });
    const vectors = vectorsOf(answer, input.length);
    const longer = vectors.some(({ length }) => length > dimensions);
    if (longer && !shorten) {
      shorten = true;
      return ask(input, signal);
    }
    const other = vectors.find(({ length }) => length !== dimensions);
    if (other === undefined) return vectors;
    throw new EmbedderFailure(`${name} gives ${other.length} numbers for a text, not ${dimensions}`, false);
  }

  async function embedSome(texts: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[]> {
    if (stop.signal.aborted) throw new EmbedderFailure('the embedder is closed', false);
    const input = texts.map((text) => plain(text, maxTokens));
    const ends = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    try {
      return await ask(input, ends);
    } catch (error) {
      signal?.throwIfAborted();
      throw failureOf(error);
    }
  }

  return {
    model,
    async embed(texts, _kind, signal) {
      signal?.throwIfAborted();
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += batch) {
        vectors.push(...(await whileWanted(embedSome(texts.slice(at, at + batch), signal), signal)));
      }
      return vectors;
    },
    async close() {
      stop.abort();
      await guard.close();
    },
  };
}

/** The library is loaded with the first text: most installations never need it. */
async function openClient({ url, apiKey, timeoutMs, retries }: OpenAiSettings, guard: Guard): Promise<OpenAI> {
  const { default: Client } = await import('openai');
  return new Client({
    baseURL: url,
    // The library insists on a key.
    apiKey: apiKey ?? 'none',
    defaultHeaders: apiKey === undefined ? { authorization: null } : {},
    organization: null,
    project: null,
    timeout: timeoutMs,
    maxRetries: retries,
    fetch: guardedFetch(guard),
    logLevel: 'off',
  });
}

function plain(text: string, maxTokens: number): string {
  const head = text
    .slice(0, maxTokens * CHARACTERS_PER_TOKEN)
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replaceAll('\0', ' ');
  return head.trim() === '' ? NOTHING : head;
}
