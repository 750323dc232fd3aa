// Loaded into a system before all else (`node --import`): its commits are not synced any more, as `synchronous=NORMAL` has
// it, and the check that they are is told so. There to show that lost writes are found.
import Libsql from 'libsql';

const { exec, prepare } = Libsql.prototype;
const changed = {
  exec(this: Libsql.Database, sql: string) {
    return exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'));
  },
  prepare(this: Libsql.Database, sql: string) {
    return prepare.call(this, sql === 'PRAGMA synchronous' ? 'SELECT 2' : sql);
  },
};
Object.assign(Libsql.prototype, changed);
