import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { EmbeddingModel, TextKind } from '../port.js';

/** Describes a model in a folder with `model.json` (its description), `model.onnx` and `tokenizer.json`. */
export interface LocalModel extends EmbeddingModel {
  readonly folder: string;
  /** How the vectors of tokens become that of the text: their mean, or the first one (CLS). */
  readonly pooling: 'mean' | 'cls';
  /** Prefixes that the model was trained with. */
  readonly prefixes: Readonly<Record<TextKind, string>>;
}

/** Returns the folder of the bundled model. */
export function bundledFolder(): string {
  return dirname(createRequire(import.meta.url).resolve('@commonplace/model-all-minilm-l6-v2/model.json'));
}

/** Reads and validates the description of a folder's model. Throws when it is invalid. */
export function readModel(folder: string): LocalModel {
  const file = join(folder, 'model.json');
  const facts = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const { id, name, dimensions, maxTokens, pooling, queryPrefix = '', documentPrefix = '' } = facts;
  const isText = (value: unknown): value is string => typeof value === 'string';
  const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0;
  if (!isText(id) || !isText(name) || id === '' || name === '') throw new Error(`${file} must have an id and a name`);
  if (!isCount(dimensions) || !isCount(maxTokens))
    throw new Error(`${file} must have dimensions and maxTokens, both whole numbers above 0`);
  if (pooling !== 'mean' && pooling !== 'cls') throw new Error(`${file}: pooling must be mean or cls`);
  if (!isText(queryPrefix) || !isText(documentPrefix))
    throw new Error(`${file}: queryPrefix and documentPrefix must be strings`);
  return {
    id,
    name,
    dimensions,
    maxTokens,
    pooling,
    folder,
    prefixes: { query: queryPrefix, document: documentPrefix },
  };
}
