/**
 * Bytes of an answer's JSON values that become text; further ones stay bytes until they are sent. Decoding them for the
 * text of the answer and encoding that text again would occupy the event loop for some 5 ms per megabyte.
 */
const LARGE_BYTES = 64 * 1024;
/** Size in bytes up to which a value always becomes text, because a piece of its own would cost more. */
const SMALL_BYTES = 4096;

/** Stands for a large value in a written answer. JSON never contains this character, because it has to be escaped. */
const PLACEHOLDER = '\u0000';

/** Values that the answer being written has left out so far, in order. Answers are written synchronously. */
let leftOut: Buffer[] = [];
/** Bytes of the values that it has written as text so far. */
let asText = 0;

/** Writes a value that is JSON already. A large one is left out of the text, with a placeholder in its position. */
export function writeJson(value: Buffer): string {
  if (value.length <= SMALL_BYTES || asText + value.length <= LARGE_BYTES) {
    asText += value.length;
    return value.toString('utf8');
  }
  leftOut.push(value);
  return PLACEHOLDER;
}

/** Runs `write`. Returns its text together with the values that it has left out. */
export function collectLargeValues(write: () => string): { readonly text: string; readonly values: readonly Buffer[] } {
  leftOut = [];
  asText = 0;
  const text = write();
  const values = leftOut;
  leftOut = [];
  return { text, values };
}

/** Returns the parts of a written text: its strings, with the values that were left out between them. */
export function partsOf(text: string, values: readonly Buffer[]): (string | Buffer)[] {
  if (values.length === 0) return [text];
  return text.split(PLACEHOLDER).flatMap((part, i) => {
    const value = values[i];
    return value === undefined ? [part] : [part, value];
  });
}
