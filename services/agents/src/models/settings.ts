import { defineSettings, shaped, text, url, wholeNumber } from '@commonplace/kit/config';
import { parseModelList, type RemoteModel } from './model-list.js';

const MODEL = '[^\\s,\\[\\]{}]{1,200}';
/** A JSON list, or comma-separated ids. */
const MODELS = `\\s*\\[(.|\\s)*\\]\\s*|${MODEL}( *, *${MODEL})*`;

export const chatModelSettings = defineSettings({
  chatModelUrl: {
    common: 'chat by a model: URL of an OpenAI-compatible API',
    help: 'URL of an OpenAI-compatible API whose models write replies (https://api.openai.com/v1); without it replies quote passages',
    parse: url('http', 'https'),
    connects: true,
    fallback: undefined as string | undefined,
  },
  chatModelApiKey: {
    help: 'key of the API of chat models',
    parse: text,
    fallback: undefined as string | undefined,
    secret: true,
  },
  chatModels: {
    help: 'models at that URL, the default first: their ids, comma-separated, or a JSON list that describes them (README of agents)',
    parse: shaped({ kind: 'text', pattern: MODELS }, parseModelList),
    fallback: [] as readonly RemoteModel[],
  },
  chatTimeoutSeconds: wholeNumber(600, [1, 3600], 'seconds after which a call of a chat model is given up'),
  chatIdleSeconds: wholeNumber(120, [1, 3600], 'seconds without a byte after which a streamed reply is given up'),
});
