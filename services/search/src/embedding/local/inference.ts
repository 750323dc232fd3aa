import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { ProcessData } from './protocol.js';

/** A loaded model. */
interface Inference {
  /** Returns the vectors of the texts, each of length 1, concatenated. */
  embed(texts: readonly string[]): Promise<Float32Array>;
}

/** Characters of a text per token that are examined: few words are longer. */
const CHARACTERS_PER_TOKEN = 16;

export async function openInference({ folder, pooling, maxTokens, threads }: ProcessData): Promise<Inference> {
  const session = await InferenceSession.create(join(folder, 'model.onnx'), {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Waiting threads sleep; spinning would take the processors from everything else.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
  const tokensOf = await openTokenizer(folder, maxTokens);
  const vectorOf = async (text: string): Promise<Float32Array> => {
    const tokens = tokensOf(text);
    const { data, dims } = await run(session, tokens);
    return pooled(data, dims.at(-1) as number, pooling === 'cls' ? 1 : tokens.length);
  };
  return {
    async embed(texts) {
      const vectors: Float32Array[] = [];
      // One text at a time: batches are no faster, and in quantized models the vector of a text would depend on the
      // rest of the batch.
      for (const text of texts) vectors.push(await vectorOf(text));
      return joined(vectors);
    },
  };
}

async function openTokenizer(folder: string, maxTokens: number): Promise<(text: string) => number[]> {
  const settings = JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8')) as Record<string, unknown>;
  const { truncation: _, padding: __, ...plain } = settings;
  const tokenizer = new Tokenizer(plain, {});
  return (text) => {
    const head = text
      .trimStart()
      .slice(0, maxTokens * CHARACTERS_PER_TOKEN)
      .replace(/\p{Surrogate}/gu, '\ufffd');
    const { ids } = tokenizer.encode(head);
    // The last token marks the end of the text, and is kept when the text is truncated.
    return ids.length <= maxTokens ? ids : [...ids.slice(0, maxTokens - 1), ids.at(-1) as number];
  };
}

async function run(session: InferenceSession, tokens: readonly number[]) {
  const shape = [1, tokens.length];
  const values: Record<string, () => BigInt64Array> = {
    input_ids: () => BigInt64Array.from(tokens, BigInt),
    attention_mask: () => new BigInt64Array(tokens.length).fill(1n),
    token_type_ids: () => new BigInt64Array(tokens.length),
  };
  const feeds: Record<string, Tensor> = {};
  for (const name of session.inputNames) {
    const value = values[name];
    if (value === undefined) throw new Error(`the model requires the unknown input ${name}`);
    feeds[name] = new Tensor('int64', value(), shape);
  }
  const [output] = Object.values(await session.run(feeds));
  if (output === undefined || !(output.data instanceof Float32Array))
    throw new Error('the model does not return 32-bit floats');
  return { data: output.data, dims: output.dims };
}

/** Returns the mean of the first rows, normalized to length 1. */
function pooled(rows: Float32Array, dimensions: number, count: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] as number) + (rows[row * dimensions + i] as number);
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function joined(vectors: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(vectors.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const vector of vectors) {
    all.set(vector, at);
    at += vector.length;
  }
  return all;
}
