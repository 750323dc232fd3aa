import type { FORM_FIELD_TYPES } from '@commonplace/proto/schemas.js';
import { type ColumnType, STORED_TYPES } from '../tables/column.js';

/** The types of form fields (api: 13). */
export type FieldType = (typeof FORM_FIELD_TYPES)[number];

const NUMBERS: readonly ColumnType[] = ['number', 'currency', 'percent', 'rating', 'duration'];
const TEXTS: readonly ColumnType[] = ['text', 'long_text'];
const ANY = STORED_TYPES.filter((type) => type !== 'attachment');

/** Column types that a field may be bound to; a column created for the field has the first one. */
export const COLUMNS_OF: Readonly<Record<FieldType, readonly ColumnType[]>> = {
  short_text: TEXTS,
  long_text: ['long_text', 'text'],
  email: ['email', ...TEXTS],
  url: ['url', ...TEXTS],
  phone: ['phone', ...TEXTS],
  number: NUMBERS,
  currency: ['currency', 'number'],
  date: ['date', ...TEXTS],
  datetime: ['datetime', ...TEXTS],
  checkbox: ['checkbox'],
  single_choice: ['select', 'multi_select', ...TEXTS],
  multi_choice: ['multi_select', ...TEXTS],
  dropdown: ['select', 'multi_select', ...TEXTS],
  rating: ['rating', 'number'],
  scale: ['number', 'rating'],
  file: ['attachment'],
  signature: ['attachment', ...TEXTS],
  hidden: ANY,
  statement: [],
};

/** The field type for each column in a form that is generated from the table's columns. */
export const FIELD_OF: Readonly<Partial<Record<ColumnType, FieldType>>> = {
  text: 'short_text',
  long_text: 'long_text',
  number: 'number',
  currency: 'currency',
  percent: 'number',
  rating: 'rating',
  duration: 'number',
  checkbox: 'checkbox',
  date: 'date',
  datetime: 'datetime',
  select: 'single_choice',
  multi_select: 'multi_choice',
  url: 'url',
  email: 'email',
  phone: 'phone',
  attachment: 'file',
  // People do not type ids: a prefilled link or a program may send them.
  user: 'hidden',
  link: 'hidden',
  resource: 'hidden',
  json: 'hidden',
};

const CHOICES: ReadonlySet<FieldType> = new Set(['single_choice', 'multi_choice', 'dropdown']);
const TEXT_FIELDS: ReadonlySet<FieldType> = new Set(['short_text', 'long_text', 'email', 'url', 'phone']);
const NUMBER_FIELDS: ReadonlySet<FieldType> = new Set(['number', 'currency', 'rating', 'scale']);

export const isChoice = (type: FieldType): boolean => CHOICES.has(type);
export const isTextField = (type: FieldType): boolean => TEXT_FIELDS.has(type);
export const isNumberField = (type: FieldType): boolean => NUMBER_FIELDS.has(type);
