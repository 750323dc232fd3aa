import { OPERATORS } from './form.js';
import {
  closed,
  type Direction,
  FLAG,
  KEY,
  line,
  listOf,
  NUMBER,
  orNull,
  ref,
  type Schema,
  sent,
  TEXT,
  TIME,
  UUID,
  whole,
} from './schema.js';

interface TypeGroup {
  /** Becomes part of the names of the schemas. */
  readonly name: string;
  readonly types: readonly string[];
  readonly options: Readonly<Record<string, Schema>>;
  /** Options that a column of the type can't do without. */
  readonly needed?: readonly string[];
}

const BOUNDS = { min: NUMBER, max: NUMBER, precision: whole(0, 8) };
const LENGTH = { max_length: whole(1, 100_000) };
const MANY = { many: { ...FLAG, description: 'False: a cell has one element at the most.' } };
const ZONE = { timezone: { ...TEXT, description: 'An IANA time zone, for display.' } };
const LINK = { link_column_id: { ...KEY, description: 'The link column of this table that is followed.' } };
const TARGET = { target_column_id: { ...KEY, description: 'The column of the linked rows that is read.' } };

/** Types of columns that have the same options. */
const GROUPS: readonly TypeGroup[] = [
  { name: 'Text', types: ['text', 'long_text', 'url'], options: LENGTH },
  { name: 'Number', types: ['number', 'percent', 'duration'], options: BOUNDS },
  { name: 'Currency', types: ['currency'], options: { ...BOUNDS, currency: { ...TEXT, pattern: '^[A-Z]{3}$' } } },
  { name: 'Rating', types: ['rating'], options: { max: whole(1, 10) } },
  { name: 'Time', types: ['date', 'datetime', 'created_at', 'updated_at'], options: ZONE },
  { name: 'Select', types: ['select', 'multi_select'], options: {} },
  { name: 'List', types: ['user', 'resource', 'attachment'], options: MANY },
  {
    name: 'Link',
    types: ['link'],
    options: {
      ...MANY,
      target_table_id: { ...UUID, description: 'The table whose rows the cells name.' },
      inverse_column_id: { ...KEY, description: 'Makes the column read-only: it shows the rows that name this row.' },
    },
    needed: ['target_table_id'],
  },
  {
    name: 'Formula',
    types: ['formula'],
    options: { expression: line(2000, { minLength: 1 }), precision: whole(0, 8) },
    needed: ['expression'],
  },
  {
    name: 'Lookup',
    types: ['lookup'],
    options: { ...LINK, ...TARGET },
    needed: ['link_column_id', 'target_column_id'],
  },
  {
    name: 'Rollup',
    types: ['rollup'],
    options: {
      ...LINK,
      ...TARGET,
      function: { type: 'string', enum: ['sum', 'avg', 'min', 'max', 'count', 'count_unique', 'concat'] },
      precision: whole(0, 8),
    },
    needed: ['link_column_id', 'target_column_id', 'function'],
  },
  { name: 'Count', types: ['count'], options: LINK, needed: ['link_column_id'] },
  {
    name: 'Plain',
    types: ['checkbox', 'email', 'phone', 'json', 'auto_number', 'created_by', 'updated_by'],
    options: {},
  },
];

/** Types of a table's columns. */
export const COLUMN_TYPES: readonly string[] = GROUPS.flatMap(({ types }) => types);

/** Other names of types that requests may have. */
export const COLUMN_TYPE_ALIASES = {
  string: 'text',
  single_line_text: 'text',
  markdown: 'long_text',
  boolean: 'checkbox',
  single_select: 'select',
  person: 'user',
  relation: 'link',
  file: 'attachment',
} as const;

const CHOICE: Schema = closed({ id: KEY, name: line(255), color: { type: ['string', 'null'], maxLength: 32 } }, [
  'id',
  'name',
  'color',
]);
const CHOICE_INPUT: Schema = {
  anyOf: [
    line(255, { minLength: 1 }),
    {
      type: 'object',
      properties: { id: KEY, name: line(255, { minLength: 1 }), color: { type: ['string', 'null'], maxLength: 32 } },
      required: ['name'],
      additionalProperties: false,
    },
  ],
};

function optionsOf({ name, options, needed = [] }: TypeGroup, direction: Direction): Schema {
  const choices = listOf(direction === 'output' ? ref('TableChoice') : CHOICE_INPUT, { maxItems: 1000 });
  const all = name === 'Select' ? { ...options, choices } : options;
  return direction === 'output' ? closed(all, name === 'Select' ? ['choices'] : needed) : sent(all, needed);
}

/** Facts of a column of any type. */
const FACTS = {
  id: KEY,
  name: line(255, { minLength: 1 }),
  description: { type: ['string', 'null'], maxLength: 2000 },
  required: FLAG,
  unique: FLAG,
  hidden: FLAG,
  width: { type: ['integer', 'null'], minimum: 1, maximum: 10_000, description: 'Pixels.' },
  is_primary: { ...FLAG, description: 'The column by whose cells people know a row.' },
};

function column(group: TypeGroup, direction: Direction): Schema {
  const output = direction === 'output';
  const aliases = Object.entries(COLUMN_TYPE_ALIASES).flatMap(([name, type]) =>
    group.types.includes(type) ? name : [],
  );
  const type = { type: 'string', enum: output ? group.types : [...group.types, ...aliases] };
  const fallback = { description: 'The value of a new row; null for none.' };
  const properties = { ...FACTS, type, options: optionsOf(group, direction), default: fallback };
  // A column that is there already is found by its id and may leave out its name.
  return output ? closed(properties, Object.keys(properties)) : sent(properties, ['type']);
}

/** A column of a request without its type: the column that is there already, or one of text. */
const UNTYPED: Schema = sent({ ...FACTS, options: { type: 'object', additionalProperties: true }, default: {} });

const columns: Record<string, Schema> = {};
for (const group of GROUPS) {
  columns[`Table${group.name}Column`] = column(group, 'output');
  columns[`Table${group.name}ColumnInput`] = column(group, 'input');
}

const CELLS: Schema = {
  type: 'object',
  additionalProperties: ref('TableCell'),
  description: "By the columns' ids; in a request by ids or names.",
};

export const TABLE_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...columns,
  TableColumn: {
    description: 'A column of a table. Its type tells which options it has.',
    anyOf: GROUPS.map(({ name }) => ref(`Table${name}Column`)),
  },
  TableColumnInput: {
    description: 'A column. Without `type` it keeps the type that it has; a new one holds text.',
    anyOf: [...GROUPS.map(({ name }) => ref(`Table${name}ColumnInput`)), ref('TableUntypedColumnInput')],
  },
  TableUntypedColumnInput: UNTYPED,
  TableChoice: CHOICE,
  TableCell: {
    description:
      'A value of a cell, null where it is empty: text, a number, a truth value, the id of a choice or person, a list of ' +
      'ids or values, or any JSON in a column of type `json`.',
  },
  TableCells: CELLS,
  TableRow: closed(
    {
      id: TEXT,
      cells: ref('TableCells'),
      position: { type: 'integer', minimum: 0, description: 'Its place in the table, from 0.' },
      created_at: TIME,
      updated_at: TIME,
    },
    ['id', 'cells', 'position', 'created_at', 'updated_at'],
  ),
  TableRowInput: {
    description: "A row: with `cells`, as an object of the cells alone, or as a list of values in the columns' order.",
    anyOf: [
      {
        type: 'object',
        required: ['cells'],
        properties: {
          id: orNull(line(64)),
          cells: ref('TableCells'),
          position: { type: ['integer', 'null'], minimum: 0 },
        },
        additionalProperties: true,
      },
      ref('TableCells'),
      listOf(ref('TableCell')),
    ],
  },
  TableFilter: {
    description: 'A condition, or a group of which all (`and`) or one (`or`) must hold.',
    anyOf: [ref('TableFilterAll'), ref('TableFilterAny'), ref('TableCondition')],
  },
  TableFilterAll: closed({ and: listOf(ref('TableFilter')) }, ['and']),
  TableFilterAny: closed({ or: listOf(ref('TableFilter')) }, ['or']),
  TableCondition: closed({ column: TEXT, op: { type: 'string', enum: OPERATORS }, value: {} }, ['column', 'op']),
  TableSort: listOf(
    { anyOf: [TEXT, closed({ column: TEXT, direction: { type: 'string', enum: ['asc', 'desc'] } }, ['column'])] },
    { maxItems: 10 },
  ),
  TableContentInput: sent({
    columns: listOf(ref('TableColumnInput'), { minItems: 1, maxItems: 500 }),
    rows: listOf(ref('TableRowInput'), { maxItems: 10_000 }),
    typecast: FLAG,
    key_column_id: TEXT,
    delete_row_ids: listOf(TEXT, { maxItems: 10_000 }),
  }),
};
