export { createMongoStores, dropDatabases, mongoUrl, type OpenedStore, onServer, openMongoStore } from './mongo.js';
export { openTestDatabase, type TestDatabase } from './sqlite.js';
