import { COLUMN_TYPE_ALIASES } from '@commonplace/proto/schemas.js';

/** Column types whose cells clients may write. */
export const STORED_TYPES = [
  'text',
  'long_text',
  'number',
  'currency',
  'percent',
  'rating',
  'duration',
  'checkbox',
  'date',
  'datetime',
  'select',
  'multi_select',
  'user',
  'link',
  'resource',
  'attachment',
  'url',
  'email',
  'phone',
  'json',
] as const;

/** Column types that are computed from other cells, or maintained by the table itself; clients never write them. */
export const READ_ONLY_TYPES = [
  'formula',
  'lookup',
  'rollup',
  'count',
  'auto_number',
  'created_at',
  'updated_at',
  'created_by',
  'updated_by',
] as const;

export type ColumnType = (typeof STORED_TYPES)[number] | (typeof READ_ONLY_TYPES)[number];

export const COLUMN_TYPES: readonly ColumnType[] = [...STORED_TYPES, ...READ_ONLY_TYPES];

/** Aliases of types that requests may use. */
export const TYPE_ALIASES: ReadonlyMap<string, ColumnType> = new Map(Object.entries(COLUMN_TYPE_ALIASES));

export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly color: string | null;
}

type RollupFunction = 'sum' | 'avg' | 'min' | 'max' | 'count' | 'count_unique' | 'concat';

/** Options of a column, in the spelling of the API: they are stored as they are returned. */
export interface ColumnOptions {
  readonly max_length?: number;
  readonly precision?: number;
  readonly min?: number;
  readonly max?: number;
  /** Three capital letters. */
  readonly currency?: string;
  /** IANA name, used for display only. */
  readonly timezone?: string;
  readonly choices?: readonly Choice[];
  /** Id of the table that a link's rows belong to. */
  readonly target_table_id?: string;
  /** Makes a link read-only: it shows the target's rows whose cell in that column contains this row. */
  readonly inverse_column_id?: string;
  /** False allows at most one element. */
  readonly many?: boolean;
  readonly expression?: string;
  /** The link column of this table that a lookup, rollup or count follows. */
  readonly link_column_id?: string;
  /** The column of the linked rows that a lookup or rollup reads. */
  readonly target_column_id?: string;
  readonly function?: RollupFunction;
}

/** A value of a cell; null if it is empty. */
export type Cell = null | string | number | boolean | readonly Cell[] | { readonly [key: string]: Cell };

export interface Column {
  readonly id: string;
  readonly name: string;
  readonly type: ColumnType;
  readonly description: string | null;
  readonly options: ColumnOptions;
  readonly required: boolean;
  readonly unique: boolean;
  readonly default: Cell;
  readonly hidden: boolean;
  /** Pixels. */
  readonly width: number | null;
  /** Index of its values in a stored row. A change of type assigns a new slot, and slots are never reused. */
  readonly slot: number;
}

/** A text column with nothing but the defaults. */
export const PLAIN_COLUMN: Column = {
  id: '',
  name: '',
  type: 'text',
  description: null,
  options: {},
  required: false,
  unique: false,
  default: null,
  hidden: false,
  width: null,
  slot: 0,
};

const NUMBERS: ReadonlySet<ColumnType> = new Set([
  'number',
  'currency',
  'percent',
  'rating',
  'duration',
  'auto_number',
  'count',
]);
const LISTS: ReadonlySet<ColumnType> = new Set(['multi_select', 'user', 'link', 'resource', 'attachment', 'lookup']);
const TEXTS: ReadonlySet<ColumnType> = new Set(['text', 'long_text', 'url', 'email', 'phone']);
const TIMES: ReadonlySet<ColumnType> = new Set(['date', 'datetime', 'created_at', 'updated_at']);

export const isNumber = (type: ColumnType): boolean => NUMBERS.has(type);
export const isList = (type: ColumnType): boolean => LISTS.has(type);
export const isText = (type: ColumnType): boolean => TEXTS.has(type);
export const isTime = (type: ColumnType): boolean => TIMES.has(type);

/** Returns whether a column's values are computed when they are read. */
export function isComputed({ type, options }: Pick<Column, 'type' | 'options'>): boolean {
  if (type === 'link') return options.inverse_column_id !== undefined;
  return type === 'formula' || type === 'lookup' || type === 'rollup' || type === 'count';
}

/** Returns whether clients may write a column's cells. */
export function isWritable(column: Pick<Column, 'type' | 'options'>): boolean {
  return !isComputed(column) && !(READ_ONLY_TYPES as readonly string[]).includes(column.type);
}

/** Returns whether stored rows have a slot for a column: not for computed columns and the row's own metadata. */
export function isStored(column: Pick<Column, 'type' | 'options'>): boolean {
  return isWritable(column) || column.type === 'auto_number';
}

/** Finds a column by id, else by name. Returns undefined if there is none, or if several have the name. */
export function findColumn(columns: readonly Column[], key: string): Column | undefined {
  const byId = columns.find(({ id }) => id === key);
  if (byId !== undefined) return byId;
  const [named, ...more] = columns.filter(({ name }) => name === key);
  return more.length === 0 ? named : undefined;
}

/** Returns the index of the column that a key names; `several` if several have it as their name. */
export type ResolveColumn = (key: string) => number | 'several' | undefined;

/** Creates what resolves many keys: by id, else by name. */
export function createResolveColumn(columns: readonly Column[]): ResolveColumn {
  const known = new Map<string, number | 'several'>();
  for (const [i, { name }] of columns.entries()) known.set(name, known.has(name) ? 'several' : i);
  for (const [i, { id }] of columns.entries()) known.set(id, i);
  return (key) => known.get(key);
}

/** Creates a `findColumn` for many keys. */
export function createFindColumn(columns: readonly Column[]): (key: string) => Column | undefined {
  const resolve = createResolveColumn(columns);
  return (key) => {
    const at = resolve(key);
    return typeof at === 'number' ? columns[at] : undefined;
  };
}

/** Returns a column as the API presents it. */
export function shownColumn({ slot: _slot, ...column }: Column, primary: string): Record<string, unknown> {
  return { ...column, is_primary: column.id === primary };
}
