import type { EmbeddingModel } from '../../embedding/port.js';
import { MissingCollection, type Server } from './client.js';
import { deleteAll, documentsById } from './lookup.js';
import type { Naming } from './names.js';
import { chunksSchema } from './schema.js';
import { type Token, valueToken } from './tokens.js';

/** Describes a model with vectors in the index. */
export interface ModelRecord {
  readonly model: EmbeddingModel;
  /**
   * Marks the entries that have vectors of it; a new key is used when its vectors were dropped and are created again.
   */
  readonly key: Token;
  readonly chunks: string;
}

export interface Models {
  all(): Promise<readonly ModelRecord[]>;
  find(id: string): Promise<ModelRecord | undefined>;
  /** Returns the same from a cache, which may be out of date. */
  recall(id: string): Promise<ModelRecord | undefined>;
  forget(id: string): void;
  add(model: EmbeddingModel): Promise<ModelRecord>;
  drop(id: string): Promise<void>;
}

export function createModels(server: Server, naming: Naming): Models {
  const known = new Map<string, ModelRecord>();

  function recordOf({ key, model }: Record<string, unknown>): ModelRecord {
    const parsed = JSON.parse(String(model)) as EmbeddingModel;
    return { model: parsed, key: key as Token, chunks: naming.chunks(String(key)) };
  }

  const models: Models = {
    async all() {
      const search = { collection: naming.models, q: '*', filter_by: 'kind:[model]', per_page: 250 };
      const [found] = await server.search([search]);
      return found?.hits.map(({ document }) => recordOf(document)) ?? [];
    },
    async find(id) {
      const token = valueToken(id);
      const document = (await documentsById(server, naming.models, [token], 'key,model')).get(token);
      if (document === undefined) known.delete(id);
      else known.set(id, recordOf(document));
      return known.get(id);
    },
    recall: async (id) => known.get(id) ?? models.find(id),
    forget: (id) => void known.delete(id),
    async add(model) {
      const there = await models.find(model.id);
      if (there !== undefined) return there;
      const key = `m${Date.now().toString(36)}`;
      await server.create(chunksSchema(naming.chunks(key), model.dimensions));
      const document = { id: valueToken(model.id), kind: 'model', key, model: JSON.stringify(model) };
      const [line] = await server.write(naming.models, 'create', [document]);
      // Another replica has added it first.
      if (line !== 'ok') await server.drop(naming.chunks(key));
      const record = await models.find(model.id);
      if (record === undefined) throw new MissingCollection('a model was deleted while it was being created');
      return record;
    },
    async drop(id) {
      const record = await models.find(id);
      if (record === undefined) return;
      known.delete(id);
      await deleteAll(server, naming.models, 'id', [valueToken(id)]);
      await server.drop(record.chunks);
    },
  };
  return models;
}
