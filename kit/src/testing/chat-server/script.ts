/** A call of a tool that the double asks for. */
export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  /** A text is sent as it is, so that it may be malformed; anything else as JSON. */
  readonly arguments?: unknown;
}

/** A fault that occurs after `afterTokens` tokens of a reply. */
export interface Fault {
  /**
   * `drop` breaks the connection, `end` ends the answer without a finish, `hang` sends nothing more, `malformed` sends a
   * line that is no JSON, `error` sends an error as a frame.
   */
  readonly type: 'drop' | 'end' | 'hang' | 'malformed' | 'error';
  readonly afterTokens: number;
  /** Code of the error of `error`. */
  readonly code?: string;
}

/** One answer of the double. Without a field it is an empty reply that stops. */
export interface ScriptedReply {
  /** Tokens; a text is split before each space. */
  readonly text?: string | readonly string[];
  readonly toolCalls?: readonly ScriptedCall[];
  /** Milliseconds before the first byte of the answer. */
  readonly firstDelayMs?: number;
  /** Milliseconds before each token. */
  readonly delayMs?: number;
  readonly finishReason?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** Usage to report; `none` reports none. The billed usage when absent. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | 'none';
  readonly fault?: Fault;
  /** An error instead of a reply. */
  readonly status?: number;
  readonly error?: {
    readonly code?: string | null;
    readonly message?: string;
    readonly type?: string;
    readonly param?: string | null;
  };
  readonly headers?: Readonly<Record<string, string>>;
  /** Frames that are sent as they are instead of a reply, as other vendors write them. */
  readonly frames?: readonly unknown[];
}

/** Replies to the calls of a conversation, one after the other. */
export interface Script {
  /** Occurs in a message of the person or of the system; all conversations when absent. */
  readonly match?: string;
  readonly replies: readonly ScriptedReply[];
  /**
   * `call`: each call gets the next reply. `turn`: the prompt determines the turn, and a call gets that turn's reply
   * even if it was sent before, so that a killed caller can repeat it. `call` when absent.
   */
  readonly by?: 'call' | 'turn';
}

/** Returns the tokens of a reply's text. */
export function tokensOf({ text = [] }: ScriptedReply): readonly string[] {
  return typeof text === 'string' ? (text.match(/\s?\S*/g) ?? []).filter((token) => token !== '') : text;
}

/** Common failures of providers. */
export const failures = {
  tooManyRequests: (retryAfter = '1'): ScriptedReply => ({
    status: 429,
    error: { code: 'rate_limit_exceeded', message: 'Rate limit reached', type: 'requests' },
    headers: { 'retry-after': retryAfter },
  }),
  serverError: (): ScriptedReply => ({
    status: 500,
    error: { message: 'The server had an error while processing your request', type: 'server_error' },
  }),
  wrongKey: (): ScriptedReply => ({
    status: 401,
    error: { code: 'invalid_api_key', message: 'Incorrect API key provided', type: 'invalid_request_error' },
  }),
  contextTooLong: (): ScriptedReply => ({
    status: 400,
    error: {
      code: 'context_length_exceeded',
      message: "This model's maximum context length is 8192 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
    },
  }),
  hang: (): ScriptedReply => ({ text: 'never', fault: { type: 'hang', afterTokens: 0 } }),
} as const;
