export { type MongoDatabase, openMongoDatabase } from './database.js';
export { inspectMongo, openMongoSource } from './inspect.js';
export type { MongoOutbox } from './outbox.js';
