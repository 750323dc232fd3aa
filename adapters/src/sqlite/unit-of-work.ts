import type { DomainEvent } from '@commonplace/kit/events';
import {
  type Collection,
  LostRace,
  type NumberRange,
  type StoredRecord,
  UniqueTaken,
  type UnitOfWork,
} from '@commonplace/kit/store';
import type { Written } from '../store/listeners.js';
import { tracedEvent } from '../store/telemetry.js';
import { encodeInPieces, hasLongText } from './encode-record.js';
import { StepFailed } from './file/write-queue.js';
import type { Pieces, Step } from './file/writer-protocol.js';
import { createOverlay } from './overlay.js';
import { columnOf } from './schema.js';
import { checkName } from './values.js';

/** What a unit needs from its store. */
export interface UnitContext {
  /** Returns the table of a collection. Throws if the collection does not belong to this store. */
  tableOf(spec: { readonly name: string }): string;
  /** Excludes the records that a unit writes to from the cache, until the returned function is called. */
  exclude(writes: readonly Written[]): () => void;
  /** Commits the statements and, in the same transaction, the events. */
  commit(steps: readonly Step[], events: readonly DomainEvent[]): Promise<void>;
  /** Is called after a unit was committed, with the records that it wrote to. */
  committed(work: UnitOfWork, writes: readonly Written[]): void;
}

interface Write {
  readonly collection: string;
  readonly id: string;
  /** The statement. `UNWRITTEN` stands for the JSON of `long`, which the commit encodes. */
  readonly step: Step;
  /** A record with a long text. */
  readonly long?: StoredRecord | undefined;
  /** Is called if the step changes nothing. */
  readonly refused?: (() => void) | undefined;
}

/**
 * Collects writes as statements, in call order. It is a class because V8 creates the hidden class of an object literal
 * with an accessor anew for each object, puts it into old space, and so retains what the accessor references.
 */
class SqliteUnitOfWork implements UnitOfWork {
  private readonly writes: Write[] = [];
  private readonly events: DomainEvent[] = [];
  private readonly overlay = createOverlay();
  private over = false;

  constructor(private readonly context: UnitContext) {}

  get dirty(): boolean {
    return this.events.length > 0 || this.writes.some(({ step: [, , must] }) => must === 'change');
  }

  async get<T extends StoredRecord>(from: Collection<T>, id: string): Promise<T | undefined> {
    this.context.tableOf(from.spec);
    return this.overlay.read(from, id);
  }

  insert<T extends StoredRecord>({ spec }: Collection<T>, record: Omit<T, 'version'>): T {
    const made = { ...record, version: 1 } as unknown as StoredRecord;
    const sql = `INSERT INTO ${this.context.tableOf(spec)} (id, version, doc) VALUES (?, 1, ?)`;
    const long = hasLongText(made) ? made : undefined;
    this.add(spec, made.id, [sql, [made.id, long ? UNWRITTEN : JSON.stringify(made)], 'change'], { long });
    this.overlay.put(spec.name, made);
    return made as T;
  }

  replace<T extends StoredRecord>({ spec }: Collection<T>, before: T, after: Omit<T, 'version'>): T {
    if ((after as unknown as StoredRecord).id !== before.id) throw new TypeError('a record keeps its id');
    const made = { ...after, version: before.version + 1 } as unknown as StoredRecord;
    const sql = `UPDATE ${this.context.tableOf(spec)} SET version = ?, doc = ? WHERE id = ? AND version = ?`;
    const long = hasLongText(made) ? made : undefined;
    const doc = long ? UNWRITTEN : JSON.stringify(made);
    this.add(spec, made.id, [sql, [made.version, doc, made.id, before.version], 'change'], { long });
    this.overlay.put(spec.name, made);
    return made as T;
  }

  remove<T extends StoredRecord>({ spec }: Collection<T>, { id, version }: T): void {
    const sql = `DELETE FROM ${this.context.tableOf(spec)} WHERE id = ? AND version = ?`;
    this.add(spec, id, [sql, [id, version], 'change']);
    this.overlay.drop(spec.name, id);
  }

  expect<T extends StoredRecord>({ spec }: Collection<T>, { id, version }: T): void {
    const sql = `SELECT 1 FROM ${this.context.tableOf(spec)} WHERE id = ? AND version = ?`;
    this.add(spec, id, [sql, [id, version], 'row']);
  }

  increment<T extends StoredRecord>(
    { spec }: Collection<T>,
    id: string,
    field: string & keyof T,
    by: number,
    fixed: Partial<T>,
  ): void {
    const fresh = { ...fixed, id, version: 1, [field]: by } as StoredRecord;
    const sql = incrementSql(this.context.tableOf(spec), field);
    this.add(spec, id, [sql, [id, JSON.stringify(fresh), by], 'change']);
    this.overlay.add(spec.name, fresh, field, by);
  }

  incrementWithin<T extends StoredRecord>(
    { spec }: Collection<T>,
    id: string,
    field: string & keyof T,
    by: number,
    { atLeast, atMost }: NumberRange,
    refused?: () => void,
  ): void {
    const sql = incrementWithinSql(this.context.tableOf(spec), field);
    const params = [by, id, by, atLeast ?? -Number.MAX_VALUE, atMost ?? Number.MAX_VALUE];
    this.add(spec, id, [sql, params, 'change'], { refused });
    this.overlay.add(spec.name, { id, version: 1, [field]: by } as StoredRecord, field, by);
  }

  publish(event: DomainEvent): void {
    this.requireOpen();
    this.events.push(tracedEvent(event));
  }

  async commit(): Promise<void> {
    this.requireOpen();
    this.over = true;
    const writes = this.writes;
    if (writes.length === 0 && this.events.length === 0) return;
    const steps = writes.some(({ long }) => long !== undefined) ? await encodeLong(writes) : writes.map(stepOf);
    const include = this.context.exclude(writes.filter(({ step: [, , must] }) => must === 'change'));
    try {
      await this.context.commit(steps, this.events);
    } catch (error) {
      throw error instanceof StepFailed ? translateFailure(error, writes[error.step]) : error;
    } finally {
      include();
    }
    this.context.committed(this, writes);
  }

  private add(
    spec: { readonly name: string },
    id: string,
    step: Step,
    { long, refused }: Pick<Write, 'long' | 'refused'> = {},
  ): void {
    this.requireOpen();
    this.writes.push({ collection: spec.name, id, step, long, refused });
  }

  private requireOpen(): void {
    if (this.over) throw new Error('the unit of work was committed already');
  }
}

export function createUnitOfWork(context: UnitContext): UnitOfWork {
  return new SqliteUnitOfWork(context);
}

const UNWRITTEN: Pieces = [];

const stepOf = ({ step }: Write): Step => step;

/** Returns the statements of writes, with the JSON of long records, and lets other requests run in between. */
async function encodeLong(writes: readonly Write[]): Promise<Step[]> {
  const steps: Step[] = [];
  for (const { step, long } of writes) {
    const pieces = long === undefined ? UNWRITTEN : await encodeInPieces(long);
    const [sql, params, must] = step;
    steps.push(long === undefined ? step : [sql, params.map((param) => (param === UNWRITTEN ? pieces : param)), must]);
  }
  return steps;
}

function incrementSql(table: string, field: string): string {
  return (
    `INSERT INTO ${table} (id, version, doc) VALUES (?, 1, ?) ` +
    `ON CONFLICT (id) DO UPDATE SET doc = ${addSql(table, field)}`
  );
}

function incrementWithinSql(table: string, field: string): string {
  const sum = `(${table}.doc ->> ${pathOf(field)}) + ?`;
  return `UPDATE ${table} SET doc = ${addSql(table, field)} WHERE id = ? AND ${sum} BETWEEN ? AND ?`;
}

/** Returns SQL that adds to a number within the document; the sum is written with all its digits. */
function addSql(table: string, field: string): string {
  const sum = `SELECT coalesce(${table}.doc ->> ${pathOf(field)}, 0) + ? AS s`;
  const exact = `(SELECT CASE typeof(s) WHEN 'real' THEN json(printf('%!.17g', s)) ELSE s END FROM (${sum}))`;
  return `json_set(doc, ${pathOf(field)}, ${exact})`;
}

function pathOf(field: string): string {
  return `'$.${checkName(field)}'`;
}

/** Converts a failed step into an error of the port. */
function translateFailure(failed: StepFailed, write: Write | undefined): Error {
  if (write === undefined) return failed;
  if (failed.kind === 'unchanged') write.refused?.();
  if (failed.kind === 'unchanged' || failed.code === 'SQLITE_CONSTRAINT_PRIMARYKEY') {
    return new LostRace(write.collection, write.id);
  }
  const column = /UNIQUE constraint failed: \w+\.(\w+)$/.exec(failed.message)?.[1];
  if (column === undefined) return failed;
  return new UniqueTaken(write.collection, column === columnOf('version') ? column : column.replace(/^_/, ''));
}
