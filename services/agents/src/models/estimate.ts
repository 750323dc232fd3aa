import type { ModelRequest } from './port.js';

/** UTF-8 bytes that count as one token where no provider has counted; on the safe side for most languages. */
const BYTES_PER_TOKEN = 3;

/** Returns the estimated number of tokens of so many UTF-8 bytes. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Returns the estimated number of tokens of a text. */
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
