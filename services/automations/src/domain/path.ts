/** Maximum length of a path, and maximum number of names in it. */
const MAX_PATH_CHARACTERS = 255;
const MAX_PATH_NAMES = 32;

const PLAIN_NAME = /[A-Za-z0-9_-]+/y;
const INDEX = /\[(\d{1,9})\]/y;

/** A syntax error in a path or a template; `at` is the index of the offending character. */
export class SyntaxFault extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

interface ScannedPath {
  readonly path: readonly string[];
  /** Index of the first character after the path. */
  readonly end: number;
}

/**
 * Reads a path such as `trigger.row.cells.status`, `steps.find.output.items[0].id` or `trigger.webhook.body["a key"]`
 * that begins at an index of a text. Time is linear in the length of the path. Throws `SyntaxFault`.
 */
export function scanPath(text: string, start: number): ScannedPath {
  const path: string[] = [];
  let at = start;
  for (;;) {
    const bracket = path.length > 0 && text[at] === '[';
    const name = bracket ? bracketName(text, at) : plainName(text, at);
    path.push(name.name);
    at = name.end;
    if (path.length > MAX_PATH_NAMES) throw new SyntaxFault(`has more than ${MAX_PATH_NAMES} names`, start);
    if (at - start > MAX_PATH_CHARACTERS)
      throw new SyntaxFault(`is longer than ${MAX_PATH_CHARACTERS} characters`, start);
    if (text[at] === '[') continue;
    if (text[at] !== '.') return { path, end: at };
    at++;
  }
}

/** Returns the names of a text that consists of one path. Throws `SyntaxFault`. */
export function parsePath(text: string): readonly string[] {
  const { path, end } = scanPath(text, 0);
  if (end < text.length) throw new SyntaxFault('has a character that a path cannot contain', end);
  return path;
}

interface Name {
  readonly name: string;
  readonly end: number;
}

function plainName(text: string, at: number): Name {
  const name = matchAt(PLAIN_NAME, text, at)?.[0];
  if (name === undefined) throw new SyntaxFault('lacks a name of letters, digits, _ and -', at);
  return { name, end: at + name.length };
}

/** Reads `[0]` or `["any name"]`. */
function bracketName(text: string, at: number): Name {
  const index = matchAt(INDEX, text, at);
  if (index !== undefined) return { name: String(Number(index[1])), end: at + index[0].length };
  if (text[at + 1] !== '"') throw new SyntaxFault('has no number and no quoted name in brackets', at);
  const end = endOfString(text, at + 1);
  if (text[end] !== ']') throw new SyntaxFault('has a bracket that is not closed', at);
  return { name: parseJson(text.slice(at + 1, end), at) as string, end: end + 1 };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/** Returns the index after a JSON string that begins at `start`. Throws `SyntaxFault` if the string does not end. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  throw new SyntaxFault('has a quote that is not closed', start);
}

export function parseJson(text: string, at: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxFault('has a value that is not JSON', at);
  }
}

/**
 * Returns the value that a path leads to; undefined if there is none. Only own properties of the data count, never
 * inherited ones; `length` of a list is its number of items.
 */
export function lookUp(scope: unknown, path: readonly string[]): unknown {
  let value = scope;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
