import { parseAttributeJson } from '../../model/attribute-json.js';
import type { Attrs, Json } from '../../model/model.js';

const NAME = /[A-Za-z_][\w-]*/y;
const BARE = /[^\s{}"'=]+/y;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Returns the end of the JSON value that begins at `start`, or -1 if it has none. */
function endOfJson(source: string, start: number): number {
  let depth = 0;
  for (let at = start; at < source.length; at += 1) {
    const char = source[at];
    if (char === '"') {
      at += 1;
      while (at < source.length && source[at] !== '"') at += source[at] === '\\' ? 2 : 1;
      if (depth === 0) return at < source.length ? at + 1 : -1;
    } else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

function readValue(source: string, at: number): { value: Json; end: number } | undefined {
  const first = source[at];
  if (first === '"' || first === '{' || first === '[') {
    const end = endOfJson(source, at);
    if (end < 0) return undefined;
    const value = parseAttributeJson(source.slice(at, end)) as Json | undefined;
    return value === undefined ? undefined : { value, end };
  }
  BARE.lastIndex = at;
  const word = BARE.exec(source)?.[0];
  if (word === undefined) return undefined;
  const literal = word === 'true' || word === 'false' || word === 'null' || NUMBER.test(word);
  return { value: literal ? (JSON.parse(word) as Json) : word, end: at + word.length };
}

/** Parses `{name=value …}`; a name alone means true. Returns undefined if the text is not of this form. */
export function parseAttributes(source: string): Attrs | undefined {
  if (source === '') return {};
  if (!source.startsWith('{') || !source.endsWith('}')) return undefined;
  const attrs: Attrs = {};
  const end = source.length - 1;
  let at = 1;
  while (at < end) {
    if (source[at] === ' ' || source[at] === '\t') {
      at += 1;
      continue;
    }
    NAME.lastIndex = at;
    const name = NAME.exec(source)?.[0];
    if (name === undefined || name === '__proto__') return undefined;
    at += name.length;
    if (source[at] !== '=') {
      attrs[name] = true;
      continue;
    }
    const read = readValue(source, at + 1);
    if (read === undefined || read.end > end) return undefined;
    attrs[name] = read.value;
    at = read.end;
  }
  return attrs;
}

/** Attributes of a directive with a meaning of their own: the id of its block, and what else its block has. */
const RESERVED = new Set(['__proto__', 'id', 'raw']);

/** Returns whether a directive can have an attribute of this name. */
export const isAttributeName = (name: string): boolean => /^[A-Za-z_][\w-]*$/.test(name) && !RESERVED.has(name);

/** Returns whether a directive can have this name. */
export const isDirectiveName = (name: string): boolean => /^[A-Za-z][\w-]*$/.test(name);

/** Formats attributes for {@link parseAttributes}, always on one line; empty if there are none. */
export function formatAttributes(attrs: Attrs): string {
  const words = Object.entries(attrs).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return words.length === 0 ? '' : `{${words.join(' ')}}`;
}
