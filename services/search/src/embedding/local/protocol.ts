/** Holds what the process of a model is started with. */
export interface ProcessData {
  readonly folder: string;
  readonly pooling: 'mean' | 'cls';
  readonly maxTokens: number;
  readonly threads: number;
  /** Its `nice` value: 0 is normal, 19 the lowest priority. */
  readonly nice: number;
}

export interface Task {
  readonly texts: readonly string[];
}

/** The concatenated vectors, or the error. */
export type Reply = { readonly vectors: Float32Array } | { readonly error: string };
