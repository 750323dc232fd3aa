export { type Cell, type Connection, openConnection, type Param, type Row } from './binding.js';
export { openSqliteDatabase, type SqliteDatabase } from './database.js';
