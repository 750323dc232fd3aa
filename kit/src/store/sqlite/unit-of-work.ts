import type { DomainEvent } from '../../events/port.js';
import { tracedEvent } from '../../telemetry/store.js';
import { type Collection, LostRace, type StoredRecord, UniqueTaken, type UnitOfWork } from '../port.js';
import { createOverlay } from './overlay.js';
import { columnOf } from './schema.js';
import { checkName } from './values.js';
import { StepFailed } from './write-queue.js';
import type { Step } from './writer-protocol.js';

/** What a unit needs of its store. */
export interface UnitContext {
  /** The table of a collection. Throws where the collection is not of this store. */
  tableOf(spec: { readonly name: string }): string;
  /** Commits the statements and, in the same transaction, the events. */
  commit(steps: readonly Step[], events: readonly DomainEvent[]): Promise<void>;
}

interface Write {
  readonly collection: string;
  readonly id: string;
  readonly step: Step;
}

/** Gathers writes as statements, in the order in which they were asked for. */
export function createUnitOfWork(context: UnitContext): UnitOfWork {
  const writes: Write[] = [];
  const events: DomainEvent[] = [];
  const overlay = createOverlay();
  let over = false;

  function add(spec: { readonly name: string }, id: string, step: Step): void {
    if (over) throw new Error('the unit of work was committed already');
    writes.push({ collection: spec.name, id, step });
  }

  return {
    async get<T extends StoredRecord>(from: Collection<T>, id: string) {
      context.tableOf(from.spec);
      return overlay.read(from, id);
    },
    insert({ spec }, record) {
      const made = { ...record, version: 1 } as unknown as StoredRecord;
      const sql = `INSERT INTO ${context.tableOf(spec)} (id, version, doc) VALUES (?, 1, ?)`;
      add(spec, made.id, [sql, [made.id, JSON.stringify(made)], 'change']);
      overlay.put(spec.name, made);
      return made as never;
    },
    replace({ spec }, before, after) {
      if ((after as unknown as StoredRecord).id !== before.id) throw new TypeError('a record keeps its id');
      const made = { ...after, version: before.version + 1 } as unknown as StoredRecord;
      const sql = `UPDATE ${context.tableOf(spec)} SET version = ?, doc = ? WHERE id = ? AND version = ?`;
      add(spec, made.id, [sql, [made.version, JSON.stringify(made), made.id, before.version], 'change']);
      overlay.put(spec.name, made);
      return made as never;
    },
    remove({ spec }, { id, version }) {
      add(spec, id, [`DELETE FROM ${context.tableOf(spec)} WHERE id = ? AND version = ?`, [id, version], 'change']);
      overlay.drop(spec.name, id);
    },
    expect({ spec }, { id, version }) {
      add(spec, id, [`SELECT 1 FROM ${context.tableOf(spec)} WHERE id = ? AND version = ?`, [id, version], 'row']);
    },
    increment({ spec }, id, field, by, fixed) {
      const fresh = { ...fixed, id, version: 1, [field]: by } as StoredRecord;
      add(spec, id, [incrementSql(context.tableOf(spec), field), [id, JSON.stringify(fresh), by], 'change']);
      overlay.add(spec.name, fresh, field, by);
    },
    publish(event) {
      if (over) throw new Error('the unit of work was committed already');
      events.push(tracedEvent(event));
    },
    get dirty() {
      return events.length > 0 || writes.some(({ step: [, , must] }) => must === 'change');
    },
    async commit() {
      if (over) throw new Error('the unit of work was committed already');
      over = true;
      if (writes.length === 0 && events.length === 0) return;
      try {
        await context.commit(
          writes.map(({ step }) => step),
          events,
        );
      } catch (error) {
        throw error instanceof StepFailed ? translateFailure(error, writes[error.step]) : error;
      }
    },
  };
}

/** Adds to a number within the document; the sum is spelled with all its digits. */
function incrementSql(table: string, field: string): string {
  const path = `'$.${checkName(field)}'`;
  const sum = `SELECT coalesce(${table}.doc ->> ${path}, 0) + ? AS s`;
  const exact = `(SELECT CASE typeof(s) WHEN 'real' THEN json(printf('%!.17g', s)) ELSE s END FROM (${sum}))`;
  return (
    `INSERT INTO ${table} (id, version, doc) VALUES (?, 1, ?) ` +
    `ON CONFLICT (id) DO UPDATE SET doc = json_set(doc, ${path}, ${exact})`
  );
}

/** Says in the words of the port why a unit failed. */
function translateFailure(failed: StepFailed, write: Write | undefined): Error {
  if (write === undefined) return failed;
  if (failed.kind === 'unchanged' || failed.code === 'SQLITE_CONSTRAINT_PRIMARYKEY') {
    return new LostRace(write.collection, write.id);
  }
  const column = /UNIQUE constraint failed: \w+\.(\w+)$/.exec(failed.message)?.[1];
  if (column === undefined) return failed;
  return new UniqueTaken(write.collection, column === columnOf('version') ? column : column.replace(/^_/, ''));
}
