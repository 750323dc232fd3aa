import { AppError } from '@commonplace/kit/errors';
import { costOf, tokensOfBytes } from '../models/estimate.js';
import {
  type ChatModel,
  ContextTooLong,
  type EndReason,
  ModelFailure,
  type ModelRequest,
  type ModelToolCall,
  ModelUnavailable,
} from '../models/port.js';
import { NOTHING_SPENT, type Spent } from '../stores/runs.js';
import { estimatePrompt } from './prompt.js';

interface ModelReply {
  readonly toolCalls: readonly ModelToolCall[];
  readonly spent: Spent;
  /** Why the reply ended; `aborted` if the signal ended the call. */
  readonly reason: EndReason;
}

/** Thrown if a call failed; `spent` is what it cost nevertheless. */
export class ModelCallFailed extends Error {
  constructor(
    override readonly cause: ModelFailure,
    readonly spent: Spent,
  ) {
    super(cause.message);
  }

  get isTooLong(): boolean {
    return this.cause instanceof ContextTooLong;
  }

  /** Milliseconds to wait before the same call may succeed; undefined if it never will. */
  get retryAfterMs(): number | undefined {
    return this.cause instanceof ModelUnavailable ? (this.cause.retryAfterMs ?? 0) : undefined;
  }
}

/** Calls a model once. `onText` is called with each piece of text as it arrives. */
export async function callModel(
  model: ChatModel,
  request: ModelRequest,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<ModelReply> {
  const toolCalls: ModelToolCall[] = [];
  let received = 0;
  try {
    for await (const event of model.generate(request, signal)) {
      if (event.type === 'text') {
        received += Buffer.byteLength(event.text);
        onText(event.text);
      } else if (event.type === 'tool_call') {
        received += Buffer.byteLength(event.arguments);
        toolCalls.push({ id: event.id, name: event.name, arguments: event.arguments });
      } else {
        const usage = event.usage ?? estimate(request, event.receivedBytes ?? received);
        const spent = spentOf(model, usage.inputTokens, usage.outputTokens, event.usage === undefined);
        return { toolCalls, spent, reason: event.reason };
      }
    }
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    const bytes = Math.max(received, error.receivedBytes);
    // A call that was refused costs nothing, which is no estimate.
    if (bytes === 0) throw new ModelCallFailed(error, NOTHING_SPENT);
    const { inputTokens, outputTokens } = estimate(request, bytes);
    throw new ModelCallFailed(error, spentOf(model, inputTokens, outputTokens, true));
  }
  throw new AppError('INTERNAL', 'internal_error', 'The reply of a model ended without its final event.');
}

function estimate(request: ModelRequest, outputBytes: number) {
  const inputTokens = estimatePrompt(request.messages, JSON.stringify(request.tools));
  return { inputTokens, outputTokens: tokensOfBytes(outputBytes) };
}

/** Returns the tokens with their cost at the rates of a model. */
export function spentOf({ info }: ChatModel, inputTokens: number, outputTokens: number, estimated: boolean): Spent {
  return { inputTokens, outputTokens, micros: costOf(info, inputTokens, outputTokens), toolCalls: 0, estimated };
}
