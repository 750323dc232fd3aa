import type { ModelInfo, ModelRequest } from './port.js';

/** Maximum tokens of a reply. */
const REPLY_TOKENS = 4_096;

/** UTF-8 bytes per token if no provider has counted; a conservative value for most languages. */
export const BYTES_PER_TOKEN = 3;

/** Returns the estimated number of tokens of a number of UTF-8 bytes. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Returns the estimated number of tokens of a text, which is more than models count. */
export function estimateTokens(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

/** Returns the estimated number of input tokens of a request: its messages with their calls, and its schemas. */
export function estimateInputTokens({ messages, tools, outputSchema }: ModelRequest): number {
  let bytes = Buffer.byteLength(JSON.stringify(messages));
  if (tools.length > 0) bytes += Buffer.byteLength(JSON.stringify(tools));
  if (outputSchema !== undefined) bytes += Buffer.byteLength(JSON.stringify(outputSchema));
  return tokensOfBytes(bytes);
}

/** Returns the maximum number of tokens of a model's reply. */
export function maxReplyTokens({ maxOutputTokens }: Pick<ModelInfo, 'maxOutputTokens'>): number {
  return Math.min(maxOutputTokens, REPLY_TOKENS);
}

/** Returns the cost of tokens at the rates of a model, in micro-credits, rounded half up. */
export function costOf({ rates }: Pick<ModelInfo, 'rates'>, inputTokens: number, outputTokens: number): number {
  return Math.floor((inputTokens * rates.inputPer1k + outputTokens * rates.outputPer1k) / 1000 + 0.5);
}
