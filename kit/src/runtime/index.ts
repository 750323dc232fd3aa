export { DATABASE_FILE, RESTORE_MARKER } from './adapters.js';
export { openStoreBeside, type RecordPlaces, type StoreBeside } from './beside.js';
export { main } from './main.js';
export * from './module.js';
export { type Running, run } from './run.js';
export { processSettings } from './settings.js';
