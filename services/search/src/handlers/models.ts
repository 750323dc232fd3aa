import type { Handlers } from '@commonplace/kit/rpc';
import { decodeCursor, encodeCursor } from '@commonplace/kit/store';
import type { Page, PageRequest } from '@commonplace/proto/api/v1/page.js';
import { type Model, ModelKind, type ModelService } from '@commonplace/proto/search/v1/model_service.js';
import type { Embedders } from '../embedding/open.js';
import { embeddingModel } from '../views/model.js';

export function createModelHandlers(embedders: Embedders | undefined): Handlers<ModelService> {
  return {
    async listModels({ kind, page }, { reply }) {
      const all = embedders === undefined ? [] : [embeddingModel(embedders)];
      const asked = kind === ModelKind.UNSPECIFIED ? all : all.filter((model) => model.kind === kind);
      if (asked.length === 0) {
        reply.warnings = [{ code: 'no_model_configured', message: 'This installation has no such model.' }];
      }
      return pageOf(asked, page);
    },
  };
}

const DEFAULT_LIMIT = 50;

/** A part of all models, by id. */
function pageOf(all: readonly Model[], request: PageRequest | undefined): { items: Model[]; page: Page } {
  const limit = request?.limit || DEFAULT_LIMIT;
  const sorted = [...all].sort((a, b) => (a.id < b.id ? -1 : 1));
  const after = request?.cursor ? String(decodeCursor(request.cursor)[0]) : undefined;
  const behind = sorted.findIndex(({ id }) => after !== undefined && id > after);
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
      nextCursor: hasMore ? encodeCursor([last.id]) : undefined,
    },
  };
}
