/** What the process of a model is started with. */
export interface ProcessData {
  readonly folder: string;
  readonly pooling: 'mean' | 'cls';
  readonly maxTokens: number;
  readonly threads: number;
  /** Its place among the system's processes: 0 like others, 19 behind all. */
  readonly nice: number;
}

export interface Task {
  readonly texts: readonly string[];
}

/** The vectors behind one another, or why there are none. */
export type Reply = { readonly vectors: Float32Array } | { readonly error: string };
