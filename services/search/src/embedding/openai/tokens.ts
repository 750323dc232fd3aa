import type { CountedTokens } from '../port.js';

/** Bytes of a text per token, where the provider does not count. */
const BYTES_PER_TOKEN = 3;

/** Returns the tokens that a response of `/embeddings` reports for its texts, or an estimate. */
export function tokensOf(answer: unknown, texts: readonly string[]): CountedTokens {
  const { usage } = (answer ?? {}) as { readonly usage?: { readonly prompt_tokens?: unknown } | null };
  const tokens = usage?.prompt_tokens;
  if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0) return { tokens, isEstimated: false };
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return { tokens: Math.ceil(bytes / BYTES_PER_TOKEN), isEstimated: true };
}
