/** Maximum depth to which lists and objects may be nested in JSON that models and tools write, as in requests. */
export const MAX_NESTING = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Returns whether a JSON text is nested more deeply than allowed. Call it before `JSON.parse`, which takes seconds for
 * millions of open brackets and whose result could be neither checked nor stored.
 */
export function isTextTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (isInString) {
      if (char === BACKSLASH) i++;
      else if (char === QUOTE) isInString = false;
    } else if (char === QUOTE) isInString = true;
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > MAX_NESTING) return true;
    } else if (char === 0x5d || char === 0x7d) depth--;
  }
  return false;
}

/** Returns whether a value is nested more deeply than allowed. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= MAX_NESTING; depth++) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
    if (level.length === 0) return false;
  }
  return true;
}
