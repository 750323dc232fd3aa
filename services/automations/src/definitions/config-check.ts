import type { Fault } from '@commonplace/kit/errors';
import { UUID_PATTERN } from '@commonplace/kit/id';
import { isObject } from '@commonplace/kit/json';
import { isLongerThan } from '@commonplace/kit/words';
import { SyntaxFault } from '../domain/path.js';
import { parseTemplate } from '../domain/templates.js';
import { timeRange } from '../domain/times.js';
import { ACTIONS, type FieldKind, type FieldSpec } from './actions.js';
import type { ActionType } from './records.js';

/** A problem with a field; `at` is the place within the field, such as `[2]`. */
interface Problem {
  readonly code: string;
  /** The predicate of a sentence whose subject is the field. */
  readonly message: string;
  readonly at?: string;
}

const UUID = new RegExp(`^${UUID_PATTERN}$`, 'i');
const DECIMAL = /^\d{1,12}(?:\.\d{1,6})?$/;
const LINE_BREAKS = /[\r\n]/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that the HTTP client or the signature sets. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['host', 'content-length', 'connection', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect', 'keep-alive'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature', 'proxy-authorization'],
]);

/**
 * Checks the config of an action against its type: names, types and ranges of fields. Fields with templates are known
 * only when a run renders them, so the engine calls it again with the rendered config.
 */
export function checkConfig(type: ActionType, config: Readonly<Record<string, unknown>>, param = 'config'): Fault[] {
  const faults: Fault[] = [];
  const add = (name: string, { code, message, at = '' }: Problem): void => {
    const path = `${param}.${name}${at}`;
    faults.push({ param: path, code, message: `${path} ${message}` });
  };
  const { fields, oneOf } = ACTIONS[type];
  for (const name of Object.keys(config)) {
    if (Object.hasOwn(fields, name)) continue;
    const message = `is not a field of ${type}, which has ${Object.keys(fields).join(', ')}.`;
    add(name.slice(0, 64), { code: 'unknown_field', message });
  }
  for (const [name, spec] of Object.entries(fields)) {
    const problem = problemOf(ownValue(config, name), spec);
    if (problem !== undefined) add(name, problem);
  }
  const [first = '', ...others] = oneOf ?? [];
  if (oneOf !== undefined && oneOf.filter((name) => isGiven(ownValue(config, name))).length !== 1) {
    add(first, { code: 'missing_field', message: `or ${others.join(', ')} is required, and only one of them.` });
  }
  return faults;
}

const ownValue = (config: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(config, name) ? config[name] : undefined;

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/**
 * Returns how a text uses templates: `none`, `whole` if it is one template and takes the type of the value, otherwise
 * `partial`.
 */
function templateKind(value: unknown): 'none' | 'whole' | 'partial' {
  if (typeof value !== 'string' || !value.includes('{{')) return 'none';
  try {
    const parts = parseTemplate(value);
    if (!parts.some((part) => typeof part === 'object')) return 'none';
    return parts.length === 1 ? 'whole' : 'partial';
  } catch (error) {
    // The check of templates reports this fault.
    if (error instanceof SyntaxFault) return 'whole';
    throw error;
  }
}

/** Kinds of fields that accept a text with templates in parts of it. */
const TEXTUAL: ReadonlySet<FieldKind> = new Set([
  'line',
  'text',
  'uuid',
  'time',
  'decimal',
  'text_or_object',
  'url',
  'any',
]);

function problemOf(value: unknown, spec: FieldSpec): Problem | undefined {
  if (!isGiven(value)) return spec.required ? MISSING : undefined;
  const templated = templateKind(value);
  if (templated !== 'none') {
    if (spec.literal) return invalid('must not contain a template.');
    if (templated === 'whole' || TEXTUAL.has(spec.kind)) return undefined;
    return wrongType('must be one template and nothing beside it, or a value without templates.');
  }
  const problem = CHECKS[spec.kind](value, spec);
  if (problem !== undefined || spec.oneOf === undefined || spec.oneOf.includes(String(value))) return problem;
  return invalid(`must be one of ${spec.oneOf.join(', ')}.`);
}

const MISSING: Problem = { code: 'missing_field', message: 'is required.' };
const invalid = (message: string, at?: string): Problem => ({ code: 'invalid_value', message, ...(at && { at }) });
const wrongType = (message: string, at?: string): Problem => ({ code: 'invalid_type', message, ...(at && { at }) });

type Check = (value: unknown, spec: FieldSpec) => Problem | undefined;

const text =
  (what: string, fits: (value: string) => boolean): Check =>
  (value, { max, required }) => {
    if (typeof value !== 'string' || !fits(value)) return wrongType(`must be ${what}.`);
    if (required && value === '') return MISSING;
    return max !== undefined && isLongerThan(value, max) ? invalid(`has more than ${max} characters.`) : undefined;
  };

const list =
  (what: string, fits: (item: unknown) => boolean): Check =>
  (value, { min = 0, max = 10_000 }) => {
    if (!Array.isArray(value)) return wrongType(`must be a list of ${what}.`);
    if (value.length < min || value.length > max) return invalid(`must have ${min} to ${max} items.`);
    const wrong = value.findIndex((item) => templateKind(item) === 'none' && !fits(item));
    return wrong < 0 ? undefined : invalid(`must be one of the ${what}.`, `[${wrong}]`);
  };

const isText = (value: unknown, fits: (value: string) => boolean): boolean => typeof value === 'string' && fits(value);
const isLine = (value: string): boolean => !LINE_BREAKS.test(value) && !value.includes('\0');

const CHECKS: Readonly<Record<FieldKind, Check>> = {
  line: text('a text without line breaks', isLine),
  text: text('a text', () => true),
  uuid: text('an id', (value) => UUID.test(value)),
  time: text('a time of RFC 3339', (value) => timeRange(value) !== undefined),
  decimal: text('a decimal number as a text, such as "2.5"', (value) => DECIMAL.test(value)),
  // `checkRequest` and the engine check whether the server may call the URL, once the whole address is known.
  url: text('a URL', isLine),
  secret: text('the name of a secret', () => true),
  target: text('stop, or goto: and the id of a later action', (value) => value === 'stop' || value.startsWith('goto:')),
  flag: (value) => (typeof value === 'boolean' ? undefined : wrongType('must be true or false.')),
  whole: (value, { min = 0, max = Number.MAX_SAFE_INTEGER }) => {
    if (!Number.isInteger(value)) return wrongType('must be a whole number.');
    return Number(value) < min || Number(value) > max ? invalid(`must be between ${min} and ${max}.`) : undefined;
  },
  list: list('values', () => true),
  uuids: list('ids', (item) => isText(item, (value) => UUID.test(value))),
  lines: list('texts without line breaks', (item) => isText(item, (value) => value !== '' && isLine(value))),
  // `readConditions` checks each condition.
  conditions: list('conditions', isObject),
  object: (value) => (isObject(value) ? undefined : wrongType('must be an object.')),
  text_or_object: (value) =>
    typeof value === 'string' || isObject(value) ? undefined : wrongType('must be a text or an object.'),
  headers: (value, { max = 50 }) => {
    if (!isObject(value)) return wrongType('must be an object of names and texts.');
    const entries = Object.entries(value);
    if (entries.length > max) return invalid(`has more than ${max} headers.`);
    return entries.map(([name, one]) => headerProblem(name, one)).find((problem) => problem !== undefined);
  },
  any: () => undefined,
};

function headerProblem(name: string, value: unknown): Problem | undefined {
  const at = `.${name.slice(0, 100)}`;
  if (!HEADER_NAME.test(name)) return invalid('is not the name of a header.', at);
  if (OWN_HEADERS.has(name.toLowerCase())) return invalid('is a header that the server sets.', at);
  if (typeof value !== 'string') return wrongType('must be a text.', at);
  // A template may name any field; what it becomes is checked when the request is sent.
  const isValid = templateKind(value) === 'none' ? isHeaderValue : isLine;
  return isValid(value) ? undefined : invalid(NOT_IN_HEADERS, at);
}

/** Returns whether a text can be sent as the value of a header. */
export const isHeaderValue = (text: string): boolean => HEADER_VALUE.test(text);
export const NOT_IN_HEADERS = 'must not have line breaks, control characters or characters beyond Latin-1.';
