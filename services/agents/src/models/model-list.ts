import { isObject } from '@commonplace/kit/json';
import { MICROS_PER_CREDIT, type ModelRates } from './port.js';

/** A model at the operator's URL, as the setting describes it. */
export interface RemoteModel {
  readonly id: string;
  readonly name: string;
  /** The name of the model in the API. */
  readonly model: string;
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly supportsTools: boolean;
  readonly supportsStreaming: boolean;
  /** Whether `response_format` with a JSON Schema may be sent. */
  readonly supportsOutputSchema: boolean;
  readonly rates: ModelRates;
  readonly isDefault: boolean;
}

const CONTEXT_TOKENS = 32_768;
const MAX_OUTPUT_TOKENS = 4096;
const MAX_TOKENS = 100_000_000;
const MAX_MODELS = 100;
const MAX_CREDITS = 1_000_000;
const RESERVED = 'builtin:';
const ID = /^[^\s,[\]{}"\\\p{Cc}]{1,200}$/u;

/** Reads the fields of one model. */
interface Fields {
  text(name: string, fallback?: string): string;
  tokens(name: string, fallback: number): number;
  flag(name: string, fallback: boolean): boolean;
  credits(name: string): number;
}

/**
 * Parses the list of models: comma-separated ids, or a JSON list of objects with the field names of `GET /models`.
 * Throws for invalid lists and duplicate models.
 */
export function parseModelList(value: string): readonly RemoteModel[] {
  const listed = value.trim().startsWith('[') ? jsonList(value) : value.split(',').map((id) => ({ id: id.trim() }));
  if (listed.length === 0) throw new Error('must name a model');
  if (listed.length > MAX_MODELS) throw new Error(`must name at most ${MAX_MODELS} models`);
  const models = listed.map(readModel);
  const ids = models.map(({ id }) => id);
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) throw new Error(`names ${twice} twice`);
  const chosen = models.filter(({ isDefault }) => isDefault).length;
  if (chosen > 1) throw new Error('must mark at most one model with is_default');
  return chosen === 1 ? models : models.map((model, i) => ({ ...model, isDefault: i === 0 }));
}

function jsonList(value: string): unknown[] {
  let list: unknown;
  try {
    list = JSON.parse(value);
  } catch (error) {
    throw new Error(`must be a list of ids, or well-formed JSON (${(error as Error).message})`);
  }
  return list as unknown[];
}

const NAMES: ReadonlySet<string> = new Set([
  'id',
  'name',
  'model',
  'context_tokens',
  'max_output_tokens',
  'supports_tools',
  'supports_streaming',
  'supports_output_schema',
  'credit_rates',
  'is_default',
]);

function readModel(listed: unknown, i: number): RemoteModel {
  const members = membersOf(listed, `[${i}]`, NAMES);
  const fields = fieldsOf(members, `[${i}]`);
  const rates = fieldsOf(
    membersOf(members.credit_rates ?? {}, `[${i}].credit_rates`, new Set(['input_per_1k', 'output_per_1k'])),
    `[${i}].credit_rates`,
  );
  const id = fields.text('id');
  if (!ID.test(id) || id.startsWith(RESERVED)) {
    throw new Error(`[${i}].id must be 1 to 200 characters without spaces, and not begin with ${RESERVED}`);
  }
  const contextTokens = fields.tokens('context_tokens', CONTEXT_TOKENS);
  const maxOutputTokens = fields.tokens('max_output_tokens', Math.min(MAX_OUTPUT_TOKENS, contextTokens - 1));
  if (maxOutputTokens >= contextTokens) throw new Error(`[${i}].max_output_tokens must be below context_tokens`);
  return {
    id,
    name: fields.text('name', id),
    model: fields.text('model', id),
    contextTokens,
    maxOutputTokens,
    supportsTools: fields.flag('supports_tools', true),
    supportsStreaming: fields.flag('supports_streaming', true),
    supportsOutputSchema: fields.flag('supports_output_schema', false),
    rates: { inputPer1k: rates.credits('input_per_1k'), outputPer1k: rates.credits('output_per_1k') },
    isDefault: fields.flag('is_default', false),
  };
}

function membersOf(value: unknown, at: string, names: ReadonlySet<string>): Record<string, unknown> {
  if (!isObject(value)) throw new Error(`${at} must be an object`);
  const unknown = Object.keys(value).find((name) => !names.has(name));
  if (unknown !== undefined)
    throw new Error(`${at} has an unknown field ${unknown}; there are ${[...names].join(', ')}`);
  return value as Record<string, unknown>;
}

function fieldsOf(members: Record<string, unknown>, at: string): Fields {
  function read<T>(name: string, fallback: T | undefined, is: (value: unknown) => boolean, what: string): T {
    const value = members[name] ?? fallback;
    if (!is(value)) throw new Error(`${at}.${name} must be ${what}`);
    return value as T;
  }
  return {
    text: (name, fallback) =>
      read(
        name,
        fallback,
        (value) => typeof value === 'string' && /^\P{Cc}{1,200}$/u.test(value),
        'a text of 1 to 200 characters',
      ),
    tokens: (name, fallback) =>
      read(
        name,
        fallback,
        (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TOKENS,
        `a whole number from 1 to ${MAX_TOKENS}`,
      ),
    flag: (name, fallback) => read(name, fallback, (value) => typeof value === 'boolean', 'true or false'),
    credits: (name) => {
      const what = `credits from 0 to ${MAX_CREDITS} with at most six decimals: "0.15"`;
      return microsOf(String(read<string | number>(name, '0', isCredits, what)));
    },
  };
}

const CREDITS = /^\d{1,7}(\.\d{1,6})?$/;

function isCredits(value: unknown): boolean {
  return CREDITS.test(String(value)) && Number(value) <= MAX_CREDITS;
}

function microsOf(credits: string): number {
  return Math.round(Number(credits) * MICROS_PER_CREDIT);
}

/** Converts micro-credits into a decimal number of credits. */
export function creditsOf(micros: number): string {
  const whole = Math.floor(micros / MICROS_PER_CREDIT);
  const decimals = String(micros % MICROS_PER_CREDIT)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return decimals === '' ? String(whole) : `${whole}.${decimals}`;
}
