/** What the cells of a column hold. */
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

/** What is worked out from other cells, or kept by the table itself; never written by a client. */
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

/** Other names of types, taken in requests. */
export const TYPE_ALIASES: ReadonlyMap<string, ColumnType> = new Map([
  ['string', 'text'],
  ['single_line_text', 'text'],
  ['markdown', 'long_text'],
  ['boolean', 'checkbox'],
  ['single_select', 'select'],
  ['person', 'user'],
  ['relation', 'link'],
  ['file', 'attachment'],
]);

export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly color: string | null;
}

export type RollupFunction = 'sum' | 'avg' | 'min' | 'max' | 'count' | 'count_unique' | 'concat';

/** In the spelling of the API: they are stored as they are shown. */
export interface ColumnOptions {
  readonly max_length?: number;
  readonly precision?: number;
  readonly min?: number;
  readonly max?: number;
  /** Three letters. */
  readonly currency?: string;
  /** IANA name; for display. */
  readonly timezone?: string;
  readonly choices?: readonly Choice[];
  /** The table whose rows a link names. */
  readonly target_table_id?: string;
  /** A link with it is read-only: it shows the rows whose cell in that column of the target names this row. */
  readonly inverse_column_id?: string;
  /** False: one element at the most. */
  readonly many?: boolean;
  readonly expression?: string;
  /** The link column of this table that a lookup, rollup or count follows. */
  readonly link_column_id?: string;
  /** The column of the linked rows that a lookup or rollup reads. */
  readonly target_column_id?: string;
  readonly function?: RollupFunction;
}

/** A value of a cell; null where it is empty. */
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
  /** Where its values stand in a stored row; another one when the type changes, and never one that was used. */
  readonly slot: number;
}

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

/** Whether its values are worked out when they are read. */
export function isComputed({ type, options }: Pick<Column, 'type' | 'options'>): boolean {
  if (type === 'link') return options.inverse_column_id !== undefined;
  return type === 'formula' || type === 'lookup' || type === 'rollup' || type === 'count';
}

/** Whether clients may write its cells. */
export function isWritable(column: Pick<Column, 'type' | 'options'>): boolean {
  return !isComputed(column) && !(READ_ONLY_TYPES as readonly string[]).includes(column.type);
}

/** Whether a stored row has a place for it: worked out it is not, nor one of the row's own facts. */
export function isStored(column: Pick<Column, 'type' | 'options'>): boolean {
  return isWritable(column) || column.type === 'auto_number';
}

/** The column that an id, or else a name, means; undefined for none and for a name that several have. */
export function findColumn(columns: readonly Column[], key: string): Column | undefined {
  const byId = columns.find(({ id }) => id === key);
  if (byId !== undefined) return byId;
  const [named, ...more] = columns.filter(({ name }) => name === key);
  return more.length === 0 ? named : undefined;
}

/** A column as the API shows it. */
export function shownColumn({ slot: _slot, ...column }: Column, primary: string): Record<string, unknown> {
  return { ...column, is_primary: column.id === primary };
}
