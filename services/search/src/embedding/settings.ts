import { defineSettings, integer, shaped, text, url, wholeNumber } from '@commonplace/kit/config';

const endpoint = url('http', 'https');

/** Settings of semantic search. */
export const embeddingSettings = defineSettings({
  embeddings: {
    common: 'search by meaning: local, off, or a URL',
    help: 'how texts are embedded: local, off, or the URL of an OpenAI-compatible API (https://api.openai.com/v1)',
    parse: shaped({ kind: 'url', schemes: ['http', 'https'], words: ['local', 'off'] }, (value: string): string =>
      value === 'local' || value === 'off' ? value : endpointOf(value),
    ),
    connects: true,
    fallback: 'local' as string,
  },
  embeddingsThreads: wholeNumber(2, [1, 64], 'processor threads of the local model for documents; queries use one'),
  embeddingsIdleSeconds: wholeNumber(60, [1, 86_400], 'seconds without work after which the local model is unloaded'),
  embeddingsFolder: {
    help: 'folder of another local model: model.json, model.onnx, tokenizer.json',
    parse: text,
    fallback: undefined as string | undefined,
  },
  embeddingsModel: { help: 'name of the model at the URL', parse: text, fallback: undefined as string | undefined },
  embeddingsDimensions: {
    help: 'dimensions of the vectors of that model',
    parse: integer(1, 4096),
    fallback: undefined as number | undefined,
  },
  embeddingsMaxTokens: wholeNumber(512, [16, 1_000_000], 'maximum tokens of a text that the model at the URL reads'),
  embeddingsBatch: wholeNumber(64, [1, 2048], 'maximum texts of one request to the URL'),
  embeddingsKey: {
    help: 'key of the API at the URL',
    parse: text,
    fallback: undefined as string | undefined,
    secret: true,
  },
});

function endpointOf(value: string): string {
  try {
    return endpoint(value);
  } catch {
    throw new Error('must be local, off, or an http or https URL');
  }
}
