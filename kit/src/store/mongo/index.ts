export { type MongoDatabase, type MongoOptions, openMongoDatabase } from './database.js';
export type { MongoOutbox } from './outbox.js';
