/** Returns what is wrong with JSON of more than `maxBytes`, to follow its name. */
export const tooLarge = (maxBytes: number): string => `may have at most ${maxBytes} bytes.`;

/** Maximum bytes of JSON that a step keeps of its input, and of its output. */
const MAX_STEP_BYTES = 65_536;
/** Number of characters kept of a larger value. A character takes up to three bytes in JSON, or six if escaped. */
const CUT_LENGTH = 8_192;

interface KeptValue {
  readonly value: unknown;
  readonly truncated: boolean;
}

/**
 * Returns the form in which a step stores a value: the value, or the beginning of its JSON as a text if it is too
 * large.
 */
export function keepValue(value: unknown): KeptValue {
  const text = JSON.stringify(value) ?? 'null';
  if (Buffer.byteLength(text) <= MAX_STEP_BYTES) return { value, truncated: false };
  return { value: text.slice(0, CUT_LENGTH), truncated: true };
}
