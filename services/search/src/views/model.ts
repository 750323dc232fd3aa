import { type Model, ModelKind, ModelModality, ModelStatus } from '@commonplace/proto/search/v1/model_service.js';
import type { Embedders } from '../embedding/open.js';

const STATUS = {
  available: ModelStatus.AVAILABLE,
  degraded: ModelStatus.DEGRADED,
  unavailable: ModelStatus.UNAVAILABLE,
};

/** The model that texts are embedded with, as the API shows models. Embedding costs no credits. */
export function embeddingModel({ current, provider }: Embedders): Model {
  const { id, name, maxTokens } = current.model;
  return {
    id,
    name,
    provider,
    kind: ModelKind.EMBEDDING,
    contextTokens: maxTokens,
    maxOutputTokens: undefined,
    modalities: [ModelModality.TEXT],
    supportsTools: false,
    supportsStreaming: false,
    creditRates: { inputPer1k: '0', outputPer1k: '0' },
    isDefault: true,
    status: STATUS[current.health()],
  };
}
