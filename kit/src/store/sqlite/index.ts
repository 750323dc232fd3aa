export { type ConsumerFacts, type EventFacts, inspectEvents } from '../../events/sqlite/index.js';
export { backUp } from './backup.js';
export { type Cell, type Connection, openConnection, type Param, type Row } from './binding.js';
export { openSqliteDatabase, type SqliteDatabase } from './database.js';
