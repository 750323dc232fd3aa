export { inspectInstallation, openSqliteDatabase, type SqliteDatabase } from './database.js';
export { type ConsumerFacts, type EventFacts, inspectEvents } from './events/index.js';
export { backUp } from './file/backup.js';
export { type Cell, type Connection, openConnection, type Param, type Row } from './file/binding.js';
export { checkDatabase } from './file/check.js';
