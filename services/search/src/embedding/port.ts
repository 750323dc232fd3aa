/** Describes a model that turns texts into vectors. */
export interface EmbeddingModel {
  /** Identifies the model and everything that its vectors depend on; vectors of different ids are never compared. */
  readonly id: string;
  readonly name: string;
  readonly dimensions: number;
  /** Tokens of a text that the model reads; the rest is cut off. */
  readonly maxTokens: number;
}

/** Models distinguish queries from the documents that are searched. */
export type TextKind = 'query' | 'document';

/** Tokens that were sent to a provider. */
export interface CountedTokens {
  readonly tokens: number;
  /** Whether the tokens were estimated because the provider did not report them. */
  readonly isEstimated: boolean;
}

/** Called with the tokens of each request that a provider has answered. */
export type CountTokens = (counted: CountedTokens) => void;

/**
 * Turns texts into vectors of unit length.
 *
 * Duties of an adapter:
 * - It returns one vector for each text, in order, each with `model.dimensions` numbers and of length 1.
 * - The same text and kind always gives the same vector up to rounding, alone or among others.
 * - It accepts any text, including the empty one, lone surrogates, NUL, and characters that the model's vocabulary
 *   lacks.
 * - Queries take precedence over waiting documents.
 * - It calls `count` for each request to a provider, and never where the model runs here.
 * - It rejects with `EmbedderFailure` when the model is unavailable, for now or for good, and with the signal's reason
 *   once the signal aborts the call.
 */
export interface Embedder {
  readonly model: EmbeddingModel;
  embed(texts: readonly string[], kind: TextKind, signal?: AbortSignal, count?: CountTokens): Promise<Float32Array[]>;
  /** Stops running work; later calls reject. */
  close(): Promise<void>;
}

/** Reports that the model is unavailable. */
export class EmbedderFailure extends Error {
  constructor(
    message: string,
    /** Whether a retry may help. */
    readonly retryable: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'EmbedderFailure';
  }
}
