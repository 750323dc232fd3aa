import { isObject } from '@commonplace/kit/json';
import { isLongerThan } from '@commonplace/kit/words';
import { FORM_FIELD_TYPES } from '@commonplace/proto/schemas.js';
import { checkConditions, readCondition } from './conditions.js';
import type { FieldOption, FormField } from './field.js';
import { type FieldType, isChoice, isNumberField, isTextField } from './field-types.js';
import { createFormFaults, type FormFaults, readObject } from './reader.js';
import { type FormWebhook, readWebhooks, type WebhookInput } from './webhooks.js';

const RESPONSES = ['none', 'account', 'client'] as const;

/** A form's configuration, as it is stored. */
export interface FormConfig {
  readonly title: string;
  readonly description?: string;
  readonly fields: readonly FormField[];
  readonly submit_label?: string;
  readonly success_message?: string;
  readonly redirect_url?: string;
  readonly language?: string;
  readonly close_at?: string;
  readonly max_submissions?: number;
  readonly one_response_per: (typeof RESPONSES)[number];
  readonly require_captcha: boolean;
  readonly allow_attachments: boolean;
  readonly collect: { readonly email: boolean; readonly user: boolean };
  readonly notify_user_ids: readonly string[];
  readonly webhooks: readonly FormWebhook[];
  /** Maps names that another system uses in its webhook calls to field ids. */
  readonly mapping: Readonly<Record<string, string>>;
}

/** A configuration from a request: webhooks may bring new secrets, and fields may be absent. */
export type FormConfigInput = Omit<FormConfig, 'fields' | 'webhooks'> & {
  readonly fields: readonly FormField[] | undefined;
  readonly webhooks: readonly WebhookInput[];
};

const MAX_FIELDS = 100;
const MAX_OPTIONS = 500;
/** Options of all fields of a form: they become choices of columns, which are read with each submission. */
const MAX_OPTIONS_IN_ALL = 5000;
const MAX_FILES = 10;
const MAX_TEXT = 100_000;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ACCEPT = /^(?:\.[A-Za-z0-9]{1,16}|[a-z]+\/(?:\*|[A-Za-z0-9.+-]{1,100}))$/;
/** Ids of the fields that `collect` adds. */
export const COLLECTED = { email: 'respondent_email', user: 'respondent_user' } as const;

/**
 * Parses `config` of a request. Returns it with all faults, under `config.…`. Patterns are checked by
 * `checkFieldPatterns`.
 */
export function readConfig(given: unknown): { readonly config: FormConfigInput; readonly faults: FormFaults } {
  const faults = createFormFaults();
  const object = isObject(given) ? given : {};
  if (!isObject(given)) faults.add('config', 'invalid_type', 'must be an object.');
  const read = readObject(object, 'config', faults);
  const collect = readObject(read.object('collect') ?? {}, read.at('collect'), faults);
  const collected = { email: collect.flag('email', false), user: collect.flag('user', false) };
  collect.end();
  const allowAttachments = read.flag('allow_attachments', true);
  const config: FormConfigInput = dropAbsent({
    title: read.line('title', 200, true) ?? '',
    description: read.text('description', 10_000),
    fields: readFields(read.list('fields', MAX_FIELDS), allowAttachments, faults),
    submit_label: read.line('submit_label', 100),
    success_message: read.text('success_message', 2000),
    redirect_url: readRedirect(read.line('redirect_url', 2000), faults),
    language: readLanguage(read.line('language', 35), faults),
    close_at: readTime(read.line('close_at', 40), faults),
    max_submissions: read.integer('max_submissions', 1, 1_000_000_000),
    one_response_per: read.oneOf('one_response_per', RESPONSES, 'none') ?? 'none',
    require_captcha: read.flag('require_captcha', false),
    allow_attachments: allowAttachments,
    collect: collected,
    notify_user_ids: readIds(read.list('notify_user_ids', 50), 'config.notify_user_ids', faults),
    webhooks: readWebhooks(read.list('webhooks', 5), faults),
    mapping: {},
  });
  const mapping = readMapping(read.object('mapping'), config.fields, faults);
  read.end();
  return { config: { ...config, mapping }, faults };
}

function readFields(
  list: readonly unknown[] | undefined,
  allowAttachments: boolean,
  faults: FormFaults,
): readonly FormField[] | undefined {
  if (list === undefined) return undefined;
  if (list.length === 0) return faults.add('config.fields', 'invalid_value', 'A form must have at least one field.');
  const optionsOf = (one: unknown) => (isObject(one) && Array.isArray(one.options) ? one.options.length : 0);
  if (list.reduce<number>((sum, one) => sum + optionsOf(one), 0) > MAX_OPTIONS_IN_ALL) {
    return faults.add('config.fields', 'too_many_items', `may have at most ${MAX_OPTIONS_IN_ALL} options in all.`);
  }
  const ids = new Set<string>();
  const columns = new Set<string>();
  const fields = list.flatMap((one, i) => {
    const param = `config.fields[${i}]`;
    if (!isObject(one)) return faults.add(param, 'invalid_type', 'must be an object.') ?? [];
    const field = readField(one, param, allowAttachments, faults);
    if (ids.has(field.id)) faults.add(`${param}.id`, 'invalid_value', `The field id ${field.id} occurs twice.`);
    ids.add(field.id);
    if (field.column_id !== undefined && columns.has(field.column_id)) {
      faults.add(`${param}.column_id`, 'invalid_value', `Two fields name the column ${field.column_id}.`);
    }
    if (field.column_id !== undefined) columns.add(field.column_id);
    return field;
  });
  checkConditions(fields, faults);
  return fields;
}

function readField(
  given: Readonly<Record<string, unknown>>,
  param: string,
  allowAttachments: boolean,
  faults: FormFaults,
): FormField {
  const read = readObject(given, param, faults);
  const type = read.oneOf('type', FORM_FIELD_TYPES, 'short_text') ?? 'short_text';
  const label = readLabel(given, read, param, faults);
  read.ignore('disabled');
  const bounds = { min: read.number('min'), max: read.number('max') };
  const lengths = { min: read.integer('min_length', 0, MAX_TEXT), max: read.integer('max_length', 1, MAX_TEXT) };
  const field: FormField = dropAbsent({
    id: readId(read.any('id'), `${param}.id`, faults) ?? slugOf(label, param),
    column_id: readId(read.any('column_id'), `${param}.column_id`, faults),
    type,
    label,
    help_text: read.text('help_text', 2000),
    placeholder: read.line('placeholder', 255),
    required: read.flag('required', false) || undefined,
    default: read.any('default'),
    options: readOptions(read.list('options', MAX_OPTIONS), type, param, faults),
    min: bounds.min,
    max: bounds.max,
    min_length: lengths.min,
    max_length: lengths.max,
    pattern: readPattern(read.line('pattern', 500), type, param, faults),
    max_files: read.integer('max_files', 1, MAX_FILES),
    accept: readAccept(read.list('accept', 50), param, faults),
    visible_if: readCondition(read.object('visible_if'), `${param}.visible_if`, faults),
  });
  read.end();
  checkField(field, allowAttachments, param, faults);
  return field;
}

function checkField(field: FormField, allowAttachments: boolean, param: string, faults: FormFaults): void {
  const { type, min, max, min_length: minLength, max_length: maxLength } = field;
  if ((min !== undefined || max !== undefined) && !isNumberField(type)) {
    faults.add(
      `${param}.${min === undefined ? 'max' : 'min'}`,
      'invalid_value',
      `A field of type ${type} has no min and max.`,
    );
  }
  if (min !== undefined && max !== undefined && min > max)
    faults.add(`${param}.max`, 'invalid_value', 'must not be less than min.');
  if (minLength !== undefined && maxLength !== undefined && minLength > maxLength)
    faults.add(`${param}.max_length`, 'invalid_value', 'must not be less than min_length.');
  if (type === 'statement' && field.column_id !== undefined)
    faults.add(`${param}.column_id`, 'invalid_value', 'A statement cannot have a column.');
  if (type === 'statement' && field.required === true)
    faults.add(`${param}.required`, 'invalid_value', 'A statement cannot be required.');
  if (type === 'file' && !allowAttachments)
    faults.add(`${param}.type`, 'invalid_value', 'must not be file while allow_attachments is false.');
}

function readLabel(
  given: Readonly<Record<string, unknown>>,
  read: ReturnType<typeof readObject>,
  param: string,
  faults: FormFaults,
): string {
  const names = ['label', 'name', 'title'].filter((key) => Object.hasOwn(given, key) && given[key] !== null);
  const [first = 'label', ...others] = names;
  for (const other of others) {
    read.ignore(other);
    if (given[other] !== given[first])
      faults.add(
        `${param}.${other}`,
        'conflicting_alias',
        `and ${first} are the same field and have different values.`,
      );
  }
  read.ignore('label', 'name', 'title');
  return read.line(first, 1000, true) ?? '';
}

function readId(value: unknown, param: string, faults: FormFaults): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && ID.test(value)) return value;
  return faults.add(param, 'invalid_value', 'must have 1 to 64 letters, digits, _ or -.');
}

/** Derives an id for a field without one from its label, so that sending the field again gives the same id. */
function slugOf(label: string, param: string): string {
  const slug = label
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 48);
  return slug || `field_${/\[(\d+)\]/.exec(param)?.[1] ?? '0'}`;
}

function readOptions(
  list: readonly unknown[] | undefined,
  type: FieldType,
  param: string,
  faults: FormFaults,
): readonly FieldOption[] | undefined {
  if (list === undefined) return undefined;
  if (!isChoice(type))
    return faults.add(`${param}.options`, 'invalid_value', `A field of type ${type} has no options.`);
  const seen = new Set<string>();
  return list.flatMap((one, i) => {
    const at = `${param}.options[${i}]`;
    const given = typeof one === 'string' ? { label: one } : one;
    if (!isObject(given)) return faults.add(at, 'invalid_type', 'must be an object.') ?? [];
    const read = readObject(given, at, faults);
    const value = read.line('value', 255);
    const label = read.line('label', 255, value === undefined) ?? value ?? '';
    const id = readId(read.any('id'), `${at}.id`, faults) ?? slugOf(label, `[${i}]`);
    read.end();
    if (seen.has(id)) faults.add(`${at}.id`, 'invalid_value', `The option ${id} occurs twice.`);
    seen.add(id);
    return { id, label, value: value ?? label };
  });
}

function readPattern(
  pattern: string | undefined,
  type: FieldType,
  param: string,
  faults: FormFaults,
): string | undefined {
  if (pattern === undefined) return undefined;
  if (!isTextField(type))
    return faults.add(`${param}.pattern`, 'invalid_value', `A field of type ${type} has no pattern.`);
  return pattern;
}

function readAccept(list: readonly unknown[] | undefined, param: string, faults: FormFaults) {
  if (list === undefined || list.length === 0) return undefined;
  if (list.every((one): one is string => typeof one === 'string' && ACCEPT.test(one))) return list;
  return faults.add(
    `${param}.accept`,
    'invalid_value',
    'must list media types such as image/*, or extensions such as .pdf.',
  );
}

function readRedirect(url: string | undefined, faults: FormFaults): string | undefined {
  if (url === undefined) return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'https:' && parsed.username === '' && parsed.password === '') return parsed.href;
  return faults.add('config.redirect_url', 'invalid_url', 'must be an https URL without credentials.');
}

function readLanguage(tag: string | undefined, faults: FormFaults): string | undefined {
  if (tag === undefined) return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return faults.add('config.language', 'invalid_value', 'must be a language tag such as en or pt-BR.');
  }
}

const TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function readTime(text: string | undefined, faults: FormFaults): string | undefined {
  if (text === undefined) return undefined;
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  return faults.add('config.close_at', 'invalid_value', 'must be a time with its zone, such as 2026-01-31T09:00:00Z.');
}

function readIds(list: readonly unknown[] | undefined, param: string, faults: FormFaults): readonly string[] {
  const ids = (list ?? []).flatMap((one, i) => {
    if (typeof one === 'string' && UUID.test(one)) return one;
    return faults.add(`${param}[${i}]`, 'invalid_value', 'must be the id of a person.') ?? [];
  });
  return [...new Set(ids)];
}

function readMapping(
  given: Readonly<Record<string, unknown>> | undefined,
  fields: readonly FormField[] | undefined,
  faults: FormFaults,
): Readonly<Record<string, string>> {
  const mapping: Record<string, string> = {};
  for (const [name, id] of Object.entries(given ?? {})) {
    const at = `config.mapping.${name}`;
    const known = typeof id === 'string' && (fields === undefined || fields.some((field) => field.id === id));
    if (name === '__proto__' || isLongerThan(name, 255) || Object.keys(mapping).length >= 200)
      faults.add(at, 'invalid_value', 'must be a name of at most 255 characters, one of at most 200 names.');
    else if (!known) faults.add(at, 'invalid_value', 'must be the id of a field.');
    else mapping[name] = id as string;
  }
  return mapping;
}

/** Copies an object without its undefined properties. */
export function dropAbsent<T extends object>(object: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}
