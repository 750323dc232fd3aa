export { DATABASE_FILE, RESTORE_MARKER } from './adapters.js';
export { main } from './main.js';
export * from './module.js';
export { type Running, run } from './run.js';
export { processSettings } from './settings.js';
