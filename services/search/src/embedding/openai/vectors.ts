import { isObject } from '@commonplace/kit/json';
import { EmbedderFailure } from '../port.js';

/**
 * Returns the vectors in a response of `/embeddings` in the order of its texts, each normalized to length 1. The
 * response is untrusted and validated completely. Throws `EmbedderFailure`.
 */
export function vectorsOf(answer: unknown, count: number): Float32Array[] {
  const { data } = isObject(answer) ? answer : {};
  if (!Array.isArray(data)) throw malformed('has no list of embeddings');
  const vectors = new Map<number, Float32Array>();
  data.forEach((item: unknown, position) => {
    const { index = position, embedding } = isObject(item) ? item : {};
    if (typeof index !== 'number' || vectors.has(index))
      throw malformed('has a missing or repeated index of an embedding');
    vectors.set(index, unitVector(embedding));
  });
  return Array.from({ length: count }, (_, i) => {
    const vector = vectors.get(i);
    if (vector === undefined || vectors.size !== count)
      throw malformed(`has ${vectors.size} embeddings for ${count} texts`);
    return vector;
  });
}

function unitVector(embedding: unknown): Float32Array {
  const isVector =
    Array.isArray(embedding) && embedding.length > 0 && embedding.every((value) => Number.isFinite(value));
  if (!isVector) throw malformed('has an embedding that is not a list of numbers');
  const numbers = embedding as number[];
  const length = Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0));
  if (length === 0) throw malformed('has an embedding without a direction');
  return Float32Array.from(numbers, (value) => value / length);
}

function malformed(what: string): EmbedderFailure {
  return new EmbedderFailure(`the response of the embeddings endpoint ${what}`, true);
}
