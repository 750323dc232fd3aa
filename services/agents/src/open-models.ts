import { setMaxListeners } from 'node:events';
import { ConfigError, type Values } from '@commonplace/kit/config';
import { openGuard } from '@commonplace/kit/fetch';
import { ModelNotFound } from './models/errors.js';
import { openExtractiveModel } from './models/extractive/model.js';
import { openOpenAiModel } from './models/openai/model.js';
import type { ChatModel, ChatModels } from './models/port.js';
import type { chatModelSettings } from './models/settings.js';
import { type WatchedModel, watched } from './models/watched.js';

type ChatModelSettings = Values<typeof chatModelSettings>;

/**
 * Opens the configured models and the built-in one, which is the default if there is no other. It makes no calls.
 * Throws `ConfigError`.
 */
export function openModels(settings: ChatModelSettings): ChatModels {
  const stop = new AbortController();
  // Every call adds a listener.
  setMaxListeners(0, stop.signal);
  const remote = openRemote(settings, stop.signal);
  const isConfigured = remote.models.length > 0;
  const all = [...remote.models, openExtractiveModel(!isConfigured)].map(watched);
  const byId = new Map(all.map((model) => [model.info.id, model]));
  const infos = all.map(({ info }) => info).sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    list: () => infos,
    isConfigured,
    default: all.find(({ info }) => info.isDefault) as WatchedModel,
    find: (id) => byId.get(id),
    get(id) {
      const model = id === undefined ? this.default : byId.get(id);
      if (model === undefined) throw ModelNotFound({ model: id }, { param: 'model' });
      return model;
    },
    status: (id) => byId.get(id)?.status() ?? 'unavailable',
    async close() {
      stop.abort();
      await remote.close();
    },
  };
}

function openRemote(
  settings: ChatModelSettings,
  stop: AbortSignal,
): { readonly models: readonly ChatModel[]; readonly close: () => Promise<void> } {
  const { chatModelUrl: url, chatModelApiKey: apiKey, chatModels, chatTimeoutSeconds, chatIdleSeconds } = settings;
  if (url === undefined && chatModels.length > 0) {
    throw new ConfigError(['COMMONPLACE_CHAT_MODELS names models: COMMONPLACE_CHAT_MODEL_URL is required too']);
  }
  if (url === undefined) return { models: [], close: async () => undefined };
  if (chatModels.length === 0) {
    throw new ConfigError(['COMMONPLACE_CHAT_MODEL_URL is set: COMMONPLACE_CHAT_MODELS has to name its models']);
  }
  const timeoutMs = chatTimeoutSeconds * 1000;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  // The operator has configured the host, so it may be in a private network. Calls have their own time limits.
  const guard = openGuard({ allowlist: [host], idleMs: timeoutMs });
  const endpoint = { url, apiKey, timeoutMs, idleMs: chatIdleSeconds * 1000, guard, stop };
  return { models: chatModels.map((model) => openOpenAiModel(model, endpoint)), close: () => guard.close() };
}
