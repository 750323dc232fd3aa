import { valuesByName } from '@commonplace/platform/enums';
import { type Model, ModelKind, ModelModality, ModelStatus } from '@commonplace/proto/agents/v1/model_service.js';
import { type EmbeddingModel, EmbeddingModelStatus } from '@commonplace/proto/search/v1/embedding_model_service.js';
import { creditsOf } from '../models/model-list.js';
import type { ModelInfo, ModelStatus as Status } from '../models/port.js';

const STATUS: Record<Status, ModelStatus> = valuesByName(ModelStatus);

const EMBEDDING_STATUS: Partial<Record<EmbeddingModelStatus, ModelStatus>> = {
  [EmbeddingModelStatus.AVAILABLE]: ModelStatus.AVAILABLE,
  [EmbeddingModelStatus.DEGRADED]: ModelStatus.DEGRADED,
  [EmbeddingModelStatus.UNAVAILABLE]: ModelStatus.UNAVAILABLE,
};

/** Converts a chat model into a message of the API. */
export function chatModel({ rates, ...info }: ModelInfo, status: Status): Model {
  return {
    ...info,
    kind: ModelKind.CHAT,
    modalities: [ModelModality.TEXT],
    creditRates: { inputPer1k: creditsOf(rates.inputPer1k), outputPer1k: creditsOf(rates.outputPer1k) },
    status: STATUS[status],
  };
}

/** Converts the embedding model into a message of the API. Embedding costs no credits. */
export function embeddingModel({ id, name, provider, contextTokens, status }: EmbeddingModel): Model {
  return {
    id,
    name,
    provider,
    kind: ModelKind.EMBEDDING,
    contextTokens,
    maxOutputTokens: undefined,
    modalities: [ModelModality.TEXT],
    supportsTools: false,
    supportsStreaming: false,
    creditRates: { inputPer1k: '0', outputPer1k: '0' },
    isDefault: true,
    status: EMBEDDING_STATUS[status] ?? ModelStatus.UNSPECIFIED,
  };
}
