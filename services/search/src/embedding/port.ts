/** A model that turns texts into vectors. */
export interface EmbeddingModel {
  /** Names the model and all that its vectors depend on; vectors of different ids are never compared. */
  readonly id: string;
  readonly name: string;
  readonly dimensions: number;
  /** Tokens of a text that it reads; what lies behind is cut off. */
  readonly maxTokens: number;
}

/** Models tell apart what is searched for and what is searched in. */
export type TextKind = 'query' | 'document';

/**
 * Turns texts into vectors of unit length.
 *
 * Duties of an adapter:
 * - One vector for each text, in their order, each of `model.dimensions` numbers and of length 1.
 * - The same text and kind gives the same vector, alone or among others, up to rounding.
 * - Takes any text, the empty one too; lone surrogates, NUL and what a model's vocabulary lacks are no faults.
 * - Queries are served before documents that wait.
 * - Rejects with EmbedderFailure where the model is not to be had, not now or not any more, and
 *   with the signal's reason once that ends the call.
 */
export interface Embedder {
  readonly model: EmbeddingModel;
  embed(texts: readonly string[], kind: TextKind, signal?: AbortSignal): Promise<Float32Array[]>;
  /** Ends what runs; later calls reject. */
  close(): Promise<void>;
}

/** The model does not answer. */
export class EmbedderFailure extends Error {
  constructor(
    message: string,
    /** Asking again may help. */
    readonly retryable: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'EmbedderFailure';
  }
}
