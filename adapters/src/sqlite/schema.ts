import type { CollectionSpec, Index, StoredRecord } from '@commonplace/kit/store';
import type { Connection } from './file/binding.js';
import { partsSchema, partsTrigger } from './substrings.js';
import { checkName, checkTable, elementsQuery, fieldExpression } from './values.js';

/** The tables, columns and indexes of a collection. */
export interface TableShape {
  readonly table: string;
  /** What queries read the records from: the table, or the table by one of its indexes. */
  readonly source: string;
  /** Fields with a column of their own, which is named `_` plus the field's name. */
  readonly columns: ReadonlySet<string>;
  readonly unique: ReadonlySet<string>;
  /** Fields of each index over columns, in order; the id follows them. */
  readonly indexes: readonly (readonly string[])[];
  /** Fields whose elements are stored in a table of their own. */
  readonly many: ReadonlySet<string>;
  /** Fields with an index of their parts. */
  readonly substrings: ReadonlySet<string>;
  /** Last fields of indexes that contain only the records with that field. */
  readonly sparse: ReadonlySet<string>;
}

export function tableShape<T extends StoredRecord>(service: string, spec: CollectionSpec<T>): TableShape {
  const fields = (of: (index: Index<T>) => boolean): Set<string> =>
    new Set(spec.indexes.filter(of).flatMap((index) => index.fields.map(checkName)));
  for (const { fields, unique, many, substrings } of spec.indexes) {
    if ((unique || many || substrings) && fields.length !== 1)
      throw new TypeError(`${spec.name}: one field only: ${fields}`);
  }
  const columns = fields((index) => !index.many);
  columns.delete('id');
  columns.delete('version');
  const table = `${checkTable(service)}__${checkTable(spec.name)}`;
  return {
    table,
    source: table,
    columns,
    unique: fields((index) => index.unique === true),
    indexes: spec.indexes
      .filter(isOverColumns)
      .filter(({ unique }) => !unique)
      .map((index) => index.fields),
    many: fields((index) => index.many === true),
    substrings: fields((index) => index.substrings === true),
    sparse: new Set(spec.indexes.flatMap((index) => (index.sparse ? index.fields.slice(-1) : []))),
  };
}

/** Returns whether an index is one of SQLite's own over columns. */
function isOverColumns<T>({ many, substrings }: Index<T>): boolean {
  return !many && !substrings;
}

/** Returns the column name of a field that has a column. */
export function columnOf(field: string): string {
  return field === 'id' || field === 'version' ? field : `_${field}`;
}

export function elementTable(table: string, field: string): string {
  return `${table}__${field}`;
}

/** Returns the name of an index that is not unique. */
export function indexName(table: string, fields: readonly string[]): string {
  return `${table}__index__${fields.join('_')}`;
}

/** Knows which tables, columns, indexes and triggers a database has. */
export interface KnownSchema {
  /** Returns the names of a table, its indexes and its triggers. */
  namesOf(table: string): ReadonlySet<string>;
  columnsOf(table: string): ReadonlySet<string>;
  /** Has the schema of a table read again when it is next asked for. */
  forget(table: string): void;
}

const NONE: ReadonlySet<string> = new Set();

/** Reads the schema of a database once for all its collections, because SQLite has no index on its schema. */
export function createKnownSchema(reader: Connection): KnownSchema {
  const byTable = (sql: string): Map<string, Set<string>> => {
    const found = new Map<string, Set<string>>();
    for (const [table, name] of reader.all(sql, []) as [string, string][]) {
      found.set(table, (found.get(table) ?? new Set()).add(name));
    }
    return found;
  };
  const all = {
    names: byTable('SELECT tbl_name, name FROM sqlite_master'),
    columns: byTable(`SELECT m.name, x.name FROM sqlite_master m, pragma_table_xinfo(m.name) x WHERE m.type = 'table'`),
  };
  const forgotten = new Set<string>();
  const only = (sql: string, table: string) => new Set(reader.all(sql, [table]).map(([name]) => String(name)));
  /** Each change of the schema makes SQLite parse all of it for the next read, so tables are read as late as possible. */
  function read(table: string): void {
    if (!forgotten.delete(table)) return;
    all.names.set(table, only('SELECT name FROM sqlite_master WHERE tbl_name = ?', table));
    all.columns.set(table, only('SELECT name FROM pragma_table_xinfo(?)', table));
  }
  return {
    namesOf(table) {
      read(table);
      return all.names.get(table) ?? NONE;
    },
    columnsOf(table) {
      read(table);
      return all.columns.get(table) ?? NONE;
    },
    forget: (table) => void forgotten.add(table),
  };
}

/**
 * Returns the statements that create what a collection lacks: its table, columns, indexes and element tables; and that
 * drop indexes of earlier versions, which would cost every write.
 */
export function missingSchema<T extends StoredRecord>(
  known: KnownSchema,
  shape: TableShape,
  spec: CollectionSpec<T>,
): string[] {
  const { table } = shape;
  const there = known.namesOf(table);
  const statements: string[] = [];
  const columns = known.columnsOf(table);
  const missing = [...shape.columns].filter((field) => !columns.has(columnOf(field))).map(columnDefinition);
  if (there.has(table)) {
    statements.push(...missing.map((definition) => `ALTER TABLE ${table} ADD COLUMN ${definition}`));
  } else {
    // Neither id nor version has a type, so that SQLite does not convert values that it compares with them.
    const fixed = ['id PRIMARY KEY NOT NULL', 'version NOT NULL', 'doc TEXT NOT NULL'];
    statements.push(`CREATE TABLE IF NOT EXISTS ${table} (${[...fixed, ...missing].join(', ')})`);
  }
  const indexes = spec.indexes.filter(isOverColumns).map((index) => indexOf(table, index));
  for (const { name, sql } of indexes) if (!there.has(name)) statements.push(sql);
  const wanted = new Set(indexes.map(({ name }) => name));
  for (const name of there) {
    if (name.startsWith(`${table}__index__`) && !wanted.has(name)) statements.push(`DROP INDEX IF EXISTS ${name}`);
  }
  for (const field of shape.many) {
    if (!there.has(`${elementTable(table, field)}__insert`)) statements.push(...elementSchema(table, field));
  }
  for (const field of shape.substrings) {
    if (!there.has(partsTrigger(table, field))) statements.push(...partsSchema(table, field, columnOf(field)));
  }
  return statements;
}

const columnDefinition = (field: string): string => `${columnOf(field)} AS (${fieldExpression(field)}) VIRTUAL`;

/**
 * Returns an index's name and statement. Every index that is not unique ends with the id, so that the order that it
 * gives is total.
 */
function indexOf<T>(table: string, index: Index<T>): { name: string; sql: string } {
  const fields = index.fields.map(checkName);
  const name = index.unique ? `${table}__unique__${fields.join('_')}` : indexName(table, fields);
  const columns = fields.map(columnOf);
  if (!index.unique && !columns.includes('id')) columns.push('id');
  const kind = index.unique ? 'UNIQUE INDEX' : 'INDEX';
  const held = index.unique || index.sparse ? ` WHERE ${columnOf(fields.at(-1) as string)} IS NOT NULL` : '';
  return { name, sql: `CREATE ${kind} IF NOT EXISTS ${name} ON ${table} (${columns.join(', ')})${held}` };
}

/**
 * Returns the statements that create the table of a field's elements, the triggers that keep it current, and its
 * initial rows.
 */
function elementSchema(table: string, field: string): string[] {
  const side = elementTable(table, field);
  const path = `'$.${field}'`;
  const into = `INSERT INTO ${side} (value, id)`;
  const add = `${into} ${elementsQuery(field, 'NEW.doc', '', ', NEW.id')}`;
  const drop = `DELETE FROM ${side} WHERE id = OLD.id AND value IN (${elementsQuery(field, 'OLD.doc')})`;
  const changed = `WHEN OLD.doc -> ${path} IS NOT NEW.doc -> ${path}`;
  return [
    `CREATE TABLE IF NOT EXISTS ${side} (value NOT NULL, id NOT NULL, PRIMARY KEY (value, id)) WITHOUT ROWID`,
    `CREATE TRIGGER IF NOT EXISTS ${side}__insert AFTER INSERT ON ${table} BEGIN ${add}; END`,
    `CREATE TRIGGER IF NOT EXISTS ${side}__update AFTER UPDATE OF doc ON ${table} ${changed} ` +
      `BEGIN ${drop}; ${add}; END`,
    `CREATE TRIGGER IF NOT EXISTS ${side}__delete AFTER DELETE ON ${table} BEGIN ${drop}; END`,
    `${into} ${elementsQuery(field, `${table}.doc`, `${table},`, `, ${table}.id`)}`,
  ];
}
