import type { CallContext, CallOptions, Client, Handlers } from '@commonplace/kit/rpc';
import { decodeCursor, encodeCursor } from '@commonplace/kit/store';
import { type Model, ModelKind, type ModelService } from '@commonplace/proto/agents/v1/model_service.js';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import type { EmbeddingModelService } from '@commonplace/proto/search/v1/embedding_model_service.js';
import type { ChatModels } from '../models/port.js';
import { chatModel, embeddingModel } from '../views/model.js';

interface ModelParts {
  readonly models: ChatModels;
  readonly embeddings: Client<EmbeddingModelService>;
}

/** Milliseconds to wait for the search service's models; after that the list is returned without them. */
const EMBEDDINGS_MS = 2000;

const NOT_CONFIGURED = { code: 'no_model_configured', message: 'This installation has no such model configured.' };
const UNAVAILABLE = {
  code: 'embedding_models_unavailable',
  message: 'The search service does not answer, so its models are not listed.',
};

/** Creates the handlers of the list of models. */
export function createModelHandlers({ models, embeddings }: ModelParts): Handlers<ModelService> {
  return {
    async listModels({ kind, page }, context) {
      const warnings: (typeof NOT_CONFIGURED)[] = [];
      const isAsked = (one: ModelKind): boolean => kind === ModelKind.UNSPECIFIED || kind === one;
      const listed: Model[] = [];
      if (isAsked(ModelKind.CHAT)) {
        listed.push(...models.list().map((info) => chatModel(info, models.status(info.id))));
        if (!models.isConfigured) warnings.push(NOT_CONFIGURED);
      }
      if (isAsked(ModelKind.EMBEDDING)) {
        const embedding = await embeddingModels(embeddings, context);
        listed.push(...(embedding ?? []));
        if (embedding === undefined) warnings.push(UNAVAILABLE);
      }
      if (listed.length === 0 && warnings.length === 0) warnings.push(NOT_CONFIGURED);
      if (warnings.length > 0) context.reply.warnings = warnings;
      return pageOf(listed, page);
    },
  };
}

/** Returns the embedding models; undefined if the search service does not answer. */
async function embeddingModels(
  embeddings: Client<EmbeddingModelService>,
  { onward }: CallContext,
): Promise<Model[] | undefined> {
  const options: CallOptions = { ...onward, deadline: Math.min(onward.deadline, Date.now() + EMBEDDINGS_MS) };
  try {
    return (await embeddings.listEmbeddingModels({}, options)).models.map(embeddingModel);
  } catch {
    return undefined;
  }
}

const DEFAULT_LIMIT = 50;

/** Returns a page of all models, sorted by id. */
function pageOf(all: readonly Model[], request: PageRequest | undefined): { items: Model[]; page: Page } {
  const limit = request?.limit || DEFAULT_LIMIT;
  const keyOf = ({ id, kind }: Model): string => `${id} ${kind}`;
  const sorted = [...all].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const after = request?.cursor ? String(decodeCursor(request.cursor)[0]) : undefined;
  const behind = sorted.findIndex((model) => after !== undefined && keyOf(model) > after);
  const from = after === undefined ? (request?.offset ?? 0) : behind < 0 ? sorted.length : behind;
  const items = sorted.slice(from, from + limit);
  const last = items.at(-1);
  const hasMore = from + items.length < sorted.length && last !== undefined;
  return {
    items,
    page: {
      limit,
      offset: request?.offset ?? 0,
      total: all.length,
      totalIsEstimate: false,
      hasMore,
      nextOffset: hasMore && after === undefined ? from + items.length : undefined,
      nextCursor: hasMore ? encodeCursor([keyOf(last)]) : undefined,
    },
  };
}
