export { DATABASE_FILE, RESTORE_MARKER, requireRestored } from './adapters.js';
export { noteBackup } from './backups.js';
export { openStoreBeside, type RecordPlaces, type StoreBeside } from './beside.js';
export { main } from './main.js';
export { type FormatState, formatOf, type Migration, migrate, requireFormat } from './migrations.js';
export * from './module.js';
export { type Running, run } from './run.js';
export { processSettings } from './settings.js';
