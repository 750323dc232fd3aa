export { inspectInstallation, openSqliteDatabase, type SqliteDatabase } from './database.js';
export { type ConsumerFacts, type EventFacts, inspectEvents } from './events/index.js';
