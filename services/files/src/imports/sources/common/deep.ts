import { ImportFault } from '../port.js';

/** Nesting depth beyond which JSON is refused, because the functions that read it recurse. */
const MAX_DEPTH = 2000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Throws an `ImportFault` if JSON is nested too deep. */
export function refuseDeep(text: string, path: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfText(text, at);
    else if (sign === 0x7b || sign === 0x5b) depth += 1;
    else if (sign === 0x7d || sign === 0x5d) depth -= 1;
    if (depth > MAX_DEPTH)
      throw new ImportFault('nested_too_deep', `${path} has values nested more than ${MAX_DEPTH} deep.`);
  }
}

/** Returns the index of the quotation mark that ends the text whose first one is at `from`. */
function endOfText(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
