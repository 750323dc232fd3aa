import { once } from '@commonplace/kit/cache';
/** The WebAssembly module that `dots.wat` is the source of; a test compares them. */
export const DOTS = Buffer.from(
  'AGFzbQEAAAABCQFgBX9/f39/AAMCAQAFAwEAAQcRAgZtZW1vcnkCAARkb3RzAAAKyAEBxQECA38DeyAAIQUCQANAIAFFDQEgAyEH' +
    'IAUgAmohBv0MAAAAAAAAAAAAAAAAAAAAACEJ/QwAAAAAAAAAAAAAAAAAAAAAIQoDQCAF/QAEACEIIAkgCP2HASAH/QAEAP26Af2u' +
    'ASEJIAogCP2IASAH/QAEEP26Af2uASEKIAdBIGohByAFQRBqIgUgBkkNAAsgCSAK/a4BIQkgBCAJ/RsAIAn9GwFqIAn9GwIgCf0b' +
    'A2pqNgIAIARBBGohBCABQQFrIQEMAAsLCw==',
  'base64',
);

/** The parts of the global object that are used here: Node.js has it, its types do not. */
declare const WebAssembly: {
  validate(bytes: Uint8Array): boolean;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

/** What the module exports. */
interface DotsModule {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): void };
  /** `vectors`, `query` and `sums` are addresses in the memory. */
  dots(vectors: number, count: number, dimensions: number, query: number, sums: number): void;
}

/** Compares one query with many vectors. */
export interface Comparer {
  /** Maximum number of vectors in one call of `products`. */
  readonly atOnce: number;
  /**
   * Returns the dot products of the query with `count` vectors, divided by `unit`. The first begins at index `from` of
   * `numbers`. The result is valid until the next call.
   */
  products(numbers: Int8Array, from: number, count: number): Int32Array | Float32Array;
  readonly unit: number;
}

/** Creates the comparer of a query: with SIMD instructions where the processor and the dimensions allow it. */
export function createComparer(query: Float32Array): Comparer {
  return query.length % 16 === 0 && HAS_SIMD ? createSimdComparer(query) : createScalarComparer(query);
}

const HAS_SIMD = WebAssembly.validate(DOTS);

/** The module's memory is filled by one query after the other, so each thread needs one instance only. */
const dotsModule = once(() => new WebAssembly.Instance(new WebAssembly.Module(DOTS)).exports as DotsModule);

/** Bytes of vectors that are compared at once: few enough for the processor's cache. */
const BYTES_AT_ONCE = 128 * 1024;
const WASM_PAGE_BYTES = 64 * 1024;
const MAX_INT32 = 2 ** 31 - 1;
const MAX_INT8 = 127;
const MAX_INT16 = 32_767;

/** Creates a comparer that rounds the query to 16-bit integers, which changes a cosine by less than 0.0001. */
export function createSimdComparer(query: Float32Array): Comparer {
  const { memory, dots } = dotsModule();
  const dimensions = query.length;
  const atOnce = Math.max(1, Math.floor(BYTES_AT_ONCE / dimensions));
  const sumsAt = 2 * dimensions;
  const vectorsAt = Math.ceil((sumsAt + 4 * atOnce) / 16) * 16;
  const pages = Math.ceil((vectorsAt + atOnce * dimensions) / WASM_PAGE_BYTES);
  const missing = pages - memory.buffer.byteLength / WASM_PAGE_BYTES;
  if (missing > 0) memory.grow(missing);
  const unit = unitOf(query);
  new Int16Array(memory.buffer, 0, dimensions).set(query.map((number) => Math.round(number / unit)));
  const sums = new Int32Array(memory.buffer, sumsAt, atOnce);
  const vectors = new Int8Array(memory.buffer, vectorsAt, atOnce * dimensions);
  return {
    atOnce,
    unit,
    products(numbers, from, count) {
      vectors.set(numbers.subarray(from, from + count * dimensions));
      dots(vectorsAt, count, dimensions, 0, sumsAt);
      return sums;
    },
  };
}

/** Returns the smallest unit in which the query's numbers fit into 16 bits, and its dot products into 32. */
function unitOf(query: Float32Array): number {
  let [max, sum] = [0, 0];
  for (const number of query) {
    max = Math.max(max, Math.abs(number));
    sum += Math.abs(number);
  }
  // Each rounded number may be larger by a half.
  const room = MAX_INT32 / MAX_INT8 - query.length;
  return Math.max(max / MAX_INT16, sum / room) || 1;
}

/** Creates a comparer for every processor and every number of dimensions. */
export function createScalarComparer(query: Float32Array): Comparer {
  const dimensions = query.length;
  const found = new Float32Array(Math.max(1, Math.floor(BYTES_AT_ONCE / dimensions)));
  return {
    atOnce: found.length,
    unit: 1,
    products(numbers, from, count) {
      for (let i = 0; i < count; i++) found[i] = dot(numbers, from + i * dimensions, query);
      return found;
    },
  };
}

/** Computes a dot product with four independent sums, which the processor can add in parallel. */
function dot(numbers: Int8Array, from: number, query: Float32Array): number {
  const dimensions = query.length;
  let a = 0;
  let b = 0;
  let c = 0;
  let e = 0;
  let d = 0;
  for (; d + 3 < dimensions; d += 4) {
    a += (numbers[from + d] as number) * (query[d] as number);
    b += (numbers[from + d + 1] as number) * (query[d + 1] as number);
    c += (numbers[from + d + 2] as number) * (query[d + 2] as number);
    e += (numbers[from + d + 3] as number) * (query[d + 3] as number);
  }
  for (; d < dimensions; d++) a += (numbers[from + d] as number) * (query[d] as number);
  return a + b + c + e;
}
