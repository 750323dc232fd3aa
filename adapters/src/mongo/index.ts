export { type MongoDatabase, type MongoOptions, openMongoDatabase } from './database.js';
export { inspectMongo, type MongoFacts, openMongoSource } from './inspect.js';
export type { MongoOutbox } from './outbox.js';
