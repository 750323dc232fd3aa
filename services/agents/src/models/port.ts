/** The id of the model that answers if the operator has configured none. It quotes passages and invents nothing. */
export const EXTRACTIVE_MODEL_ID = 'builtin:extractive';

/** Micro-credits per credit. Ledgers keep six decimal places. */
export const MICROS_PER_CREDIT = 1_000_000;

/** Prices of a model in micro-credits per 1,000 tokens, as safe integers. */
export interface ModelRates {
  readonly inputPer1k: number;
  readonly outputPer1k: number;
}

/** The properties of a chat model. */
export interface ModelInfo {
  /** Identifies the model in the API and in stored messages. */
  readonly id: string;
  readonly name: string;
  /** `local` for a model in this process, otherwise the kind of API that it is called by. */
  readonly provider: 'local' | 'openai_compatible';
  /** Maximum tokens of prompt and reply together. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly supportsTools: boolean;
  readonly supportsStreaming: boolean;
  readonly rates: ModelRates;
  /** Whether this model answers when a request names none; exactly one model does. */
  readonly isDefault: boolean;
}

/** A call of a tool that the model asked for. */
export interface ModelToolCall {
  /** Chosen by the model; the result refers to it. */
  readonly id: string;
  readonly name: string;
  /** JSON as written by the model, or `{}` if it wrote nothing. It may be malformed or violate the tool's schema. */
  readonly arguments: string;
}

/**
 * One message of a prompt. Every call of an assistant message must be followed by exactly one tool message with its id
 * before the next message of another role, as providers refuse anything else.
 */
export type ModelMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ModelToolCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string; readonly isError?: boolean };

/** A tool as described to the model. */
export interface ToolSchema {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/**
 * A passage of a source that the asking person can read, as checked by the caller. Models that read prompts find the
 * passages in the messages as well; the built-in model reads them only here.
 */
export interface Passage {
  /** The number by which the reply cites this passage: `[1]`. */
  readonly marker: number;
  /** Groups the quotes of a source. If absent, passages with the same name are grouped. */
  readonly sourceId?: string;
  /** Name of the source, shown above its quotes. */
  readonly name: string;
  readonly text: string;
  /**
   * Whether the passage matches the question by meaning, even without common words. The built-in model quotes such
   * passages if no words match.
   */
  readonly isClose?: boolean;
}

export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  /** If empty, the model cannot call tools. */
  readonly tools: readonly ToolSchema[];
  /** Positive; values above the model's limit are lowered to it. */
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  /**
   * A JSON Schema for the reply's text. Models without this option ignore it, so the prompt has to ask for it as well,
   * and the caller has to validate the reply.
   */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly passages?: readonly Passage[];
  /** The question, for the model that quotes passages; if absent, the last user message. */
  readonly question?: string;
}

/** Tokens as counted by the provider. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The reason for the end of a reply; `aborted` is the caller's signal. */
export type EndReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'aborted';

export type ModelEvent =
  /** More of the reply's text, never empty. */
  | { readonly type: 'text'; readonly text: string }
  /** A complete call. */
  | ({ readonly type: 'tool_call' } & ModelToolCall)
  | {
      readonly type: 'end';
      readonly reason: EndReason;
      /** Absent if the provider sent none; the caller then estimates it. */
      readonly usage?: ModelUsage;
      /**
       * UTF-8 bytes of received text and arguments, including those received after an abort and not emitted; for the
       * estimate.
       */
      readonly receivedBytes?: number;
    };

/**
 * Generates replies.
 *
 * Duties of an adapter:
 * - `generate` calls nothing before the first event is asked for. Each iteration is one call of the model; the adapter
 *   never repeats a call by itself, unless the provider refused it for a parameter that can be left out.
 * - The events are any number of `text`, then any number of `tool_call` in the model's order, then exactly one `end`;
 *   nothing follows. Ids of calls are unique within a reply and not empty. The reason is `tool_calls` exactly when
 *   there are calls; a reply that was cut off or aborted has none.
 * - When the signal aborts, no text or call follows. The adapter goes on receiving for at most 5 s to learn the usage,
 *   then ends the connection and emits `end` with the reason `aborted`. It never throws because of the signal. A signal
 *   that was aborted before leads to that `end` without a call.
 * - A consumer that leaves the loop ends the connection at once.
 * - A reply that ends in any other way throws a `ModelFailure`, also in mid-reply: a text without `end` is incomplete.
 *   No other error is thrown, and no message of an error contains a key, or what was sent.
 * - A call without an event from the provider for the idle timeout, and one that exceeds the overall timeout, throws
 *   `ModelUnavailable`.
 * - Calls are independent: any number may run at once.
 */
export interface ChatModel {
  readonly info: ModelInfo;
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** The code of the error that a run ends with if retries do not help. */
type ModelFailureCode = 'model_unavailable' | 'model_error';

interface FailureOptions extends ErrorOptions {
  readonly receivedBytes?: number | undefined;
}

/** Thrown if there is no complete reply. */
export abstract class ModelFailure extends Error {
  abstract readonly code: ModelFailureCode;
  /** Whether the same request may succeed later. */
  abstract readonly retryable: boolean;
  /** UTF-8 bytes of text and arguments received before the failure, which the provider may charge. */
  readonly receivedBytes: number;

  constructor(message: string, { receivedBytes = 0, ...options }: FailureOptions = {}) {
    super(message, options);
    this.receivedBytes = receivedBytes;
  }
}

/** Thrown if the model cannot be reached, is overloaded or too slow, or its reply is incomplete or malformed. */
export class ModelUnavailable extends ModelFailure {
  override readonly name: string = 'ModelUnavailable';
  readonly code = 'model_unavailable';
  readonly retryable = true;
  /** Milliseconds that the provider asks to wait before a retry. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: FailureOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Thrown if the provider refuses the request for good. */
export class ModelRefused extends ModelFailure {
  override readonly name: string = 'ModelRefused';
  readonly code = 'model_error';
  readonly retryable = false;
  /**
   * `endpoint` if every request would be refused, as for a wrong key or an unknown model, so that the operator must
   * act.
   */
  readonly concerns: 'request' | 'endpoint';

  constructor(message: string, options: FailureOptions & { readonly concerns?: 'request' | 'endpoint' } = {}) {
    super(message, options);
    this.concerns = options.concerns ?? 'request';
  }
}

/** Thrown if the prompt exceeds the context of the model. A shorter prompt may succeed. */
export class ContextTooLong extends ModelRefused {
  override readonly name: string = 'ContextTooLong';
}

/** The state of a model after its latest calls. */
export type ModelStatus = 'available' | 'degraded' | 'unavailable';

/** The models of this installation; there is always at least the built-in one. */
export interface ChatModels {
  /** The models, sorted by id. */
  list(): readonly ModelInfo[];
  /** Whether the operator has configured a model; otherwise there is only the built-in one. */
  readonly isConfigured: boolean;
  /** The model for requests that name none. */
  readonly default: ChatModel;
  find(id: string): ChatModel | undefined;
  /** Returns a model by its id, or the default model if the id is undefined. Throws `ModelNotFound`. */
  get(id: string | undefined): ChatModel;
  /** Returns the state of a model in this process. */
  status(id: string): ModelStatus;
  /** Aborts all calls. */
  close(): Promise<void>;
}
