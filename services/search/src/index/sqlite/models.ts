import type { Connection } from '@commonplace/adapters/sqlite/file';
import type { EmbeddingModel } from '../../embedding/port.js';
import type { IndexFile } from './file.js';
import { vectorSchema, vectorTable } from './schema.js';

/** Describes a model with vectors in a file. */
export interface HeldModel {
  readonly number: number;
  readonly about: EmbeddingModel;
  /** Number of entries with vectors of their present text. */
  fresh: number;
  chunks: number;
}

export function loadModels(db: Connection): HeldModel[] {
  return db.all('SELECT number, about, fresh, chunks FROM models').map(([number, about, fresh, chunks]) => ({
    number: Number(number),
    about: JSON.parse(String(about)) as EmbeddingModel,
    fresh: Number(fresh),
    chunks: Number(chunks),
  }));
}

/** Returns the model of a file, and adds it if it is missing. Must run in a transaction. */
export function heldModel({ db, models }: IndexFile, { id, name, dimensions, maxTokens }: EmbeddingModel): HeldModel {
  const known = models.get(id);
  if (known !== undefined) return known;
  const about = { id, name, dimensions, maxTokens };
  const number = Number(db.get('SELECT coalesce(max(number), 0) + 1 FROM models')?.[0]);
  db.run('INSERT INTO models VALUES (?, ?, ?, 0, 0)', [number, id, JSON.stringify(about)]);
  db.exec(vectorSchema(number));
  const model = { number, about, fresh: 0, chunks: 0 };
  models.set(id, model);
  return model;
}

/** Updates the numbers of vectors. Must run in a transaction. */
export function countVectors({ db }: IndexFile, model: HeldModel, fresh: number, chunks: number): void {
  if (fresh === 0 && chunks === 0) return;
  model.fresh += fresh;
  model.chunks += chunks;
  db.run('UPDATE models SET fresh = ?, chunks = ? WHERE number = ?', [model.fresh, model.chunks, model.number]);
}

/** Deletes a model and its vectors. Must run in a transaction. */
export function dropModel({ db, models, needs, slabs }: IndexFile, id: string): void {
  needs.delete(id);
  const model = models.get(id);
  if (model === undefined) return;
  models.delete(id);
  db.exec(`DROP TABLE ${vectorTable(model.number)}`);
  db.run('DELETE FROM models WHERE number = ?', [model.number]);
  for (const key of [...slabs.keys()]) if (key.startsWith(`${model.number} `)) slabs.delete(key);
}
