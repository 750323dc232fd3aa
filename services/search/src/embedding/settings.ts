import { integer, shaped, type Table, text, url } from '@commonplace/kit/config';

const endpoint = url('http', 'https');

/** Settings of semantic search. */
export const embeddingSettings = {
  embeddings: {
    variable: 'COMMONPLACE_EMBEDDINGS',
    common: 'search by meaning: local, off, or a URL',
    help: 'how texts are embedded: local, off, or the URL of an OpenAI-compatible API (https://api.openai.com/v1)',
    parse: shaped({ kind: 'url', schemes: ['http', 'https'], words: ['local', 'off'] }, (value: string): string =>
      value === 'local' || value === 'off' ? value : endpointOf(value),
    ),
    connects: true,
    fallback: 'local' as string,
  },
  embeddingsThreads: {
    variable: 'COMMONPLACE_EMBEDDINGS_THREADS',
    help: 'processor threads of the local model for documents; queries use one',
    parse: integer(1, 64),
    fallback: 2,
  },
  embeddingsIdleSeconds: {
    variable: 'COMMONPLACE_EMBEDDINGS_IDLE_SECONDS',
    help: 'seconds without work after which the local model is unloaded',
    parse: integer(1, 86_400),
    fallback: 60,
  },
  embeddingsFolder: {
    variable: 'COMMONPLACE_EMBEDDINGS_FOLDER',
    help: 'folder of another local model: model.json, model.onnx, tokenizer.json',
    parse: text,
    fallback: undefined as string | undefined,
  },
  embeddingsModel: {
    variable: 'COMMONPLACE_EMBEDDINGS_MODEL',
    help: 'name of the model at the URL',
    parse: text,
    fallback: undefined as string | undefined,
  },
  embeddingsDimensions: {
    variable: 'COMMONPLACE_EMBEDDINGS_DIMENSIONS',
    help: 'dimensions of the vectors of that model',
    parse: integer(1, 4096),
    fallback: undefined as number | undefined,
  },
  embeddingsMaxTokens: {
    variable: 'COMMONPLACE_EMBEDDINGS_MAX_TOKENS',
    help: 'maximum tokens of a text that the model at the URL reads',
    parse: integer(16, 1_000_000),
    fallback: 512,
  },
  embeddingsBatch: {
    variable: 'COMMONPLACE_EMBEDDINGS_BATCH',
    help: 'maximum texts of one request to the URL',
    parse: integer(1, 2048),
    fallback: 64,
  },
  embeddingsKey: {
    variable: 'COMMONPLACE_EMBEDDINGS_KEY',
    help: 'key of the API at the URL',
    parse: text,
    fallback: undefined as string | undefined,
    secret: true,
  },
} satisfies Table;

function endpointOf(value: string): string {
  try {
    return endpoint(value);
  } catch {
    throw new Error('must be local, off, or an http or https URL');
  }
}
