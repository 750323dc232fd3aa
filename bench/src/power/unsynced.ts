// Preloaded into a system (`node --import`). Disables the sync of its commits, like `synchronous=NORMAL`, and makes the
// system's check of that setting pass. It serves to prove that the checks find lost writes.
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
