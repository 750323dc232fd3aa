import type { Handlers } from '@commonplace/kit/rpc';
import { valuesByName } from '@commonplace/platform/enums';
import {
  type EmbeddingModelService,
  EmbeddingModelStatus,
} from '@commonplace/proto/search/v1/embedding_model_service.js';
import type { Embedders } from '../open-embedders.js';

const STATUS = valuesByName(EmbeddingModelStatus);

/** Creates the handlers that return the embedding model to other services. */
export function createEmbeddingModelHandlers(embedders: Embedders | undefined): Handlers<EmbeddingModelService> {
  return {
    async listEmbeddingModels() {
      if (embedders === undefined) return { models: [] };
      const { current, provider } = embedders;
      const { id, name, maxTokens } = current.model;
      return { models: [{ id, name, provider, contextTokens: maxTokens, status: STATUS[current.health()] }] };
    },
  };
}
