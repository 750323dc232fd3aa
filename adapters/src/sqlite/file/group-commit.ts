import type { Connection, Param } from './binding.js';
import type { Done, Failure, FailureKind, Pieces, Unit } from './writer-protocol.js';

/** Codes of faults of the file or the machine, not of a statement. */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|NOMEM|CORRUPT|NOTADB)/;

/**
 * Commits units in one transaction, so that they share one disk sync. A savepoint guards each unit, so that a failing
 * unit does not affect the others.
 */
export function commitGroup(connection: Connection, units: readonly Unit[]): { done: Done[]; failed: Failure[] } {
  const done: Done[] = [];
  const failed: Failure[] = [];
  try {
    connection.run('BEGIN IMMEDIATE');
    for (const unit of units) {
      const outcome = applyUnit(connection, unit);
      if ('changes' in outcome) done.push([unit[0], outcome.changes]);
      else failed.push(outcome.failure);
    }
    connection.run('COMMIT');
    return { done, failed };
  } catch (error) {
    if (connection.inTransaction) connection.run('ROLLBACK');
    const { code, message } = describe(error);
    return { done: [], failed: units.map(([number]) => [number, 0, 'unavailable', code, message]) };
  }
}

type Outcome = { changes: number[] } | { failure: Failure };

/** Applies one unit. Throws if the whole transaction is lost. */
function applyUnit(connection: Connection, [number, steps]: Unit): Outcome {
  connection.run('SAVEPOINT unit');
  const changes: number[] = [];
  for (const [sql, given, must] of steps) {
    const params = given.map(joined);
    let failure: [kind: FailureKind, code: string, message: string] | undefined;
    try {
      const changed = must === 'row' ? connection.all(sql, params).length : connection.run(sql, params);
      if (changed > 0 || must === 'any') changes.push(changed);
      else failure = ['unchanged', '', ''];
    } catch (error) {
      if (!connection.inTransaction) throw error;
      const { code, message } = describe(error);
      failure = [kindOf(code), code, message];
    }
    if (failure !== undefined) {
      connection.run('ROLLBACK TO unit');
      connection.run('RELEASE unit');
      return { failure: [number, changes.length, ...failure] };
    }
  }
  connection.run('RELEASE unit');
  return { changes };
}

const joined = (param: Param | Pieces): Param => (Array.isArray(param) ? param.join('') : (param as Param));

function kindOf(code: string): FailureKind {
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  return UNAVAILABLE.test(code) ? 'unavailable' : 'refused';
}

function describe(error: unknown): { code: string; message: string } {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return { code: String(code ?? ''), message: String(message ?? error) };
}
