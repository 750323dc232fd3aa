import { dictionary } from '@commonplace/kit/dictionary';
import { isObject } from '@commonplace/kit/json';
import type { Attrs, Json } from '../model/model.js';
import type { Report } from './faults.js';

type Rule = (value: Json) => string | undefined;

const whole =
  (from: number, to: number): Rule =>
  (value) =>
    Number.isInteger(value) && Number(value) >= from && Number(value) <= to
      ? undefined
      : `must be a whole number from ${from} to ${to}.`;
const text: Rule = (value) => (typeof value === 'string' ? undefined : 'must be a string.');
const words: Rule = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'must be a string that is not empty.';
const truth: Rule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false.');
const list: Rule = (value) => (Array.isArray(value) ? undefined : 'must be an array.');
const name: Rule = (value) =>
  typeof value === 'string' && /^[A-Za-z][\w-]{0,63}$/.test(value)
    ? undefined
    : 'must be a word of letters, digits, _ and -.';
const label: Rule = (value) =>
  typeof value === 'string' && /^[^\]\s^[]{1,200}$/.test(value)
    ? undefined
    : 'must have 1 to 200 characters without spaces or brackets.';

/** Rules for the known attributes of each type; a star marks a required attribute. */
const RULES: Readonly<Record<string, Readonly<Record<string, Rule>>>> = dictionary<Readonly<Record<string, Rule>>>({
  heading: { level: whole(1, 6) },
  bullet_list: { tight: truth },
  task_list: { tight: truth },
  ordered_list: { tight: truth, start: whole(0, 999_999_999) },
  list_item: { checked: truth },
  code_block: { language: text, meta: text },
  math: { 'tex*': text },
  callout: { kind: name },
  toggle: { summary: text },
  table: { align: list, header: truth },
  image: { 'src*': words, alt: text, title: text },
  html: { 'html*': text },
  footnote: { 'label*': label },
  front_matter: { 'text*': text },
  mention: { 'user_id*': words, name: text },
  emoji: { emoji: text, name: text },
  math_inline: { 'tex*': text },
  wiki_link: { 'target*': words, label: text },
  footnote_ref: { 'label*': label },
  link: { 'href*': text, title: text },
  comment: { 'id*': words },
});

/** Validates the attributes of a node or mark of a known type; null counts as absent. */
export function readAttributes(type: string, value: unknown, param: string, report: Report): Attrs | undefined {
  if (value !== undefined && value !== null && !isObject(value)) {
    report.fault(param, 'invalid_type', 'attrs must be an object.');
    return undefined;
  }
  const attrs = Object.fromEntries(Object.entries(value ?? {}).filter(([, entry]) => entry !== null)) as Attrs;
  for (const [key, rule] of Object.entries(RULES[type] ?? {})) {
    const field = key.replace('*', '');
    const entry = attrs[field];
    if (entry === undefined) {
      if (key.endsWith('*')) report.fault(`${param}.${field}`, 'missing_field', `${type} needs ${field}.`);
      continue;
    }
    const complaint = rule(entry);
    if (complaint !== undefined) report.fault(`${param}.${field}`, 'invalid_value', `${field} ${complaint}`);
  }
  return Object.keys(attrs).length === 0 ? undefined : attrs;
}
