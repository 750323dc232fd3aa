export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Bytes of JSON that a step keeps of its input, and of its output. */
export const MAX_STEP_BYTES = 65_536;
/** Most characters that are kept of a value which is longer than that: each has three bytes in JSON, or six where escaped. */
const CUT_LENGTH = 8_192;

export interface KeptValue {
  readonly value: unknown;
  readonly truncated: boolean;
}

/** Returns a value as it is stored with a step: its beginning, as a text, where it is longer than that has room for. */
export function keepValue(value: unknown): KeptValue {
  const text = JSON.stringify(value) ?? 'null';
  if (Buffer.byteLength(text) <= MAX_STEP_BYTES) return { value, truncated: false };
  return { value: text.slice(0, CUT_LENGTH), truncated: true };
}
