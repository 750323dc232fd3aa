import { endOfString, lookUp, parseJson, SyntaxFault, scanPath } from './path.js';

/** Maximum bytes of a rendered config, as JSON. */
const MAX_RENDERED_BYTES = 65_536;
/** Maximum nesting of lists and objects in a config or in a value that is filled in. */
export const MAX_DEPTH = 64;

/** The data that templates read: `trigger`, `steps` and `secrets`, as plain JSON. */
export type Scope = Readonly<Record<string, unknown>>;

/** `{{path}}` or `{{path | default: json}}` in a text. */
interface Reference {
  /** Names of the path, never empty. */
  readonly path: readonly string[];
  /** The path as it is written. */
  readonly text: string;
  /** Replaces a missing or null value. */
  readonly fallback?: { readonly value: unknown };
}

/** Literal text, or a reference to be filled in. */
type TemplatePart = string | Reference;

/** A reference with its place in the config, such as `rows[0].name`. */
export interface PlacedReference {
  readonly reference: Reference;
  readonly at: string;
}

type TemplateFaultCode = 'invalid_template' | 'template_unresolved' | 'template_too_long' | 'invalid_value';

/** The reason why templates cannot be parsed or filled in; `at` is the place in the config, such as `rows[0].name`. */
export class TemplateFault extends Error {
  constructor(
    readonly code: TemplateFaultCode,
    message: string,
    readonly at: string,
    /** What is there instead of the missing value. It names parts of the data that templates read. */
    readonly found?: string,
  ) {
    super(message);
  }
}

const OPEN = '{{';
const CLOSE = '}}';
const DEFAULT = /\|[ \t]*default[ \t]*:[ \t]*/y;

/**
 * Splits a text into literal parts and references. `{{"text"}}` renders as the text itself, so that `{{"{{"}}` writes
 * two braces. It takes linear time and stops at the first fault. Throws `SyntaxFault`.
 */
export function parseTemplate(text: string): readonly TemplatePart[] {
  const parts: TemplatePart[] = [];
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf(OPEN, at);
    if (open < 0) {
      parts.push(text.slice(at));
      break;
    }
    if (open > at) parts.push(text.slice(at, open));
    const { part, end } = parseReference(text, open);
    parts.push(part);
    at = end;
  }
  return parts;
}

/** Parses the `{{…}}` that begins at an index. */
function parseReference(text: string, open: number): { readonly part: TemplatePart; readonly end: number } {
  const start = skipBlanks(text, open + OPEN.length);
  if (text[start] === '"') {
    const end = endOfString(text, start);
    return { part: parseJson(text.slice(start, end), start) as string, end: closed(text, end, open) };
  }
  const { path, end } = scanPath(text, start);
  const reference = { path, text: text.slice(start, end) };
  const behind = skipBlanks(text, end);
  DEFAULT.lastIndex = behind;
  const bar = DEFAULT.exec(text);
  if (bar === null) return { part: reference, end: closed(text, behind, open) };
  const from = behind + bar[0].length;
  const to = endOfJson(text, from);
  const fallback = { value: parseJson(text.slice(from, to), from) };
  return { part: { ...reference, fallback }, end: closed(text, to, open) };
}

function closed(text: string, at: number, open: number): number {
  const end = skipBlanks(text, at);
  if (!text.startsWith(CLOSE, end)) throw new SyntaxFault(`has ${OPEN} without ${CLOSE} behind one path`, open);
  return end + CLOSE.length;
}

function skipBlanks(text: string, start: number): number {
  let at = start;
  while (text[at] === ' ' || text[at] === '\t') at++;
  return at;
}

/** Returns the index after the JSON value that begins at `start`. It does not check whether the value is valid. */
function endOfJson(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const character = text[at] as string;
    if (character === '"') {
      at = endOfString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (character === '{' || character === '[') depth++;
    if (character === '}' || character === ']') {
      // A number, true, false or null ends where the template ends.
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    }
    at++;
  }
  throw new SyntaxFault(`has ${OPEN} without ${CLOSE} behind one path`, start);
}

/**
 * Returns all references in the texts of a config, in order. Throws `TemplateFault` with `invalid_template` for a
 * template that cannot be parsed or is in the name of a field.
 */
export function referencesOf(config: unknown): PlacedReference[] {
  const found: PlacedReference[] = [];
  const walk = (value: unknown, at: string, depth: number): void => {
    if (depth > MAX_DEPTH) throw new TemplateFault('invalid_template', `has more than ${MAX_DEPTH} levels`, at);
    if (typeof value === 'string') {
      for (const part of partsOf(value, at)) if (typeof part !== 'string') found.push({ reference: part, at });
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) walk(item, `${at}[${index}]`, depth + 1);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        const inner = at === '' ? key : `${at}.${key}`;
        if (key.includes(OPEN))
          throw new TemplateFault('invalid_template', 'has a template in the name of a field', inner);
        walk(item, inner, depth + 1);
      }
    }
  };
  walk(config, '', 0);
  return found;
}

function partsOf(text: string, at: string): readonly TemplatePart[] {
  if (!text.includes(OPEN)) return [text];
  try {
    return parseTemplate(text);
  } catch (error) {
    if (error instanceof SyntaxFault) throw new TemplateFault('invalid_template', error.message, at);
    throw error;
  }
}

interface RenderOptions {
  readonly maxBytes?: number;
  /** Returns whether the text at a place in the config is a URL, whose values are encoded. */
  readonly isUrl?: (at: string) => boolean;
}

/**
 * Returns a copy of a config with its templates filled in. Filled-in values are never parsed as templates. A text that
 * is one whole template becomes the value with its type; inside longer texts, objects and lists become JSON, and null
 * becomes empty. Throws `TemplateFault`: `template_unresolved` for a missing value without default, `template_too_long`
 * above `maxBytes`, `invalid_value` for a value that changes the path of a URL.
 */
export function renderTemplates(
  config: unknown,
  scope: Scope,
  { maxBytes = MAX_RENDERED_BYTES, isUrl = () => false }: RenderOptions = {},
): unknown {
  const budget = createBudget(maxBytes);
  const render = (value: unknown, at: string, depth: number): unknown => {
    if (depth > MAX_DEPTH) throw new TemplateFault('invalid_template', `has more than ${MAX_DEPTH} levels`, at);
    if (typeof value === 'string') return renderText(value, scope, budget, at, isUrl(at));
    if (Array.isArray(value)) {
      budget.take(2 + value.length, at);
      return value.map((item, index) => render(item, `${at}[${index}]`, depth + 1));
    }
    if (typeof value !== 'object' || value === null) {
      budget.take(String(value).length, at);
      return value;
    }
    budget.take(2, at);
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        budget.takeText(key, at);
        return [key, render(item, at === '' ? key : `${at}.${key}`, depth + 1)];
      }),
    );
  };
  return render(config, '', 0);
}

function renderText(text: string, scope: Scope, budget: Budget, at: string, isUrl: boolean): unknown {
  const parts = partsOf(text, at);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') {
    const value = resolve(only, scope, at);
    budget.takeValue(value, at);
    return value;
  }
  let rendered = '';
  let withoutValues = '';
  for (const part of parts) {
    const value = typeof part === 'string' ? part : pieceOf(resolve(part, scope, at), budget, at);
    const isEncoded = isUrl && isEncodedInUrl(part, parts);
    const piece = isEncoded ? encodeURIComponent(Buffer.from(value).toString()) : value;
    budget.takeText(piece, at);
    rendered += piece;
    withoutValues += isEncoded ? 'x' : piece;
  }
  if (isUrl && countDotSegments(rendered) > countDotSegments(withoutValues)) {
    throw new TemplateFault('invalid_value', 'has a value that makes a segment of its path only dots', at);
  }
  return rendered;
}

/**
 * Returns whether a part of a URL is encoded, so that its value adds no segment, parameter or host. What begins a URL is
 * a base URL, and secrets come from the author.
 */
const isEncodedInUrl = (part: TemplatePart, [first]: readonly TemplatePart[]): boolean =>
  typeof part === 'object' && part !== first && part.path[0] !== 'secrets';

/** `.` and `..` between slashes, which a URL resolves even if they are encoded. */
const DOT_SEGMENT = /[/\\](?:\.|%2e){1,2}(?=[/\\]|$)/gi;

function countDotSegments(url: string): number {
  const [path = ''] = url.split(/[?#]/, 1);
  return path.match(DOT_SEGMENT)?.length ?? 0;
}

function resolve({ path, text, fallback }: Reference, scope: Scope, at: string): unknown {
  const value = lookUp(scope, path);
  if (value !== undefined && (value !== null || fallback === undefined)) return value;
  if (fallback !== undefined) return fallback.value;
  throw new TemplateFault('template_unresolved', `{{${text}}} has no value and no default`, at, foundAt(scope, path));
}

const MAX_NAMES_FOUND = 20;
const MAX_CHARACTERS_OF_NAME = 64;

/** Returns what the part of a path has that leads to a value, such as `trigger.input has name, text`. */
function foundAt(scope: Scope, path: readonly string[]): string {
  let depth = path.length - 1;
  while (depth > 0 && lookUp(scope, path.slice(0, depth)) === undefined) depth--;
  if (depth === 0) return '';
  const value = lookUp(scope, path.slice(0, depth));
  return `${path.slice(0, depth).join('.')} ${contentsOf(value)}`;
}

function contentsOf(value: unknown): string {
  if (value === null) return 'is null';
  if (Array.isArray(value)) return `is a list of ${value.length}`;
  if (typeof value !== 'object') return `is a ${typeof value === 'string' ? 'text' : typeof value}`;
  const names: string[] = [];
  // A loop instead of `Object.keys`, which would first list all keys of a large object.
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue;
    if (names.length === MAX_NAMES_FOUND) return `has ${names.join(', ')} and more`;
    names.push(name.slice(0, MAX_CHARACTERS_OF_NAME));
  }
  return names.length === 0 ? 'is empty' : `has ${names.join(', ')}`;
}

function pieceOf(value: unknown, budget: Budget, at: string): string {
  // Checks the size first, because converting a huge value to JSON would block the process.
  if (typeof value === 'object' && value !== null) budget.check(value, at);
  return textOfValue(value);
}

/** Returns the form of a value inside a text. */
export function textOfValue(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

interface Budget {
  take(bytes: number, at: string): void;
  takeText(text: string, at: string): void;
  takeValue(value: unknown, at: string): void;
  /** Throws if the value does not fit, without using up the budget. */
  check(value: unknown, at: string): void;
}

function createBudget(maxBytes: number): Budget {
  let left = maxBytes;
  const tooLong = (at: string) =>
    new TemplateFault('template_too_long', `is longer than ${maxBytes} bytes with its templates filled in`, at);
  const take = (bytes: number, at: string): void => {
    left -= bytes;
    if (left < 0) throw tooLong(at);
  };
  const takeText = (text: string, at: string): void => {
    // A text has at least as many bytes as UTF-16 units, so a text with too many units need not be measured.
    take(text.length > left ? text.length : Buffer.byteLength(text) + 3, at);
  };
  const takeValue = (value: unknown, at: string, depth = 0): void => {
    if (depth > MAX_DEPTH) throw tooLong(at);
    if (typeof value === 'string') takeText(value, at);
    else if (typeof value !== 'object' || value === null) take(String(value).length + 1, at);
    else takeParts(value, at, depth);
  };
  const takeParts = (value: object, at: string, depth: number): void => {
    take(2, at);
    if (Array.isArray(value)) {
      take(value.length, at);
      for (const item of value) takeValue(item, at, depth + 1);
      return;
    }
    // A loop instead of `Object.entries`, which would first list all keys of a large object.
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue;
      takeText(key, at);
      takeValue((value as Record<string, unknown>)[key], at, depth + 1);
    }
  };
  return {
    take,
    takeText,
    takeValue,
    check(value, at) {
      const before = left;
      takeValue(value, at);
      left = before;
    },
  };
}
