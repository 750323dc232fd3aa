export { DATABASE_FILE, RESTORE_MARKER, requireRestored } from './adapters.js';
export { addFields } from './add-fields.js';
export { noteBackup } from './backups.js';
export {
  openParkedBeside,
  openStoreBeside,
  type ParkedBeside,
  type RecordPlaces,
  type StoreBeside,
} from './beside.js';
export { isFirstStart, keyFilesIn, prepareKeys } from './first-start.js';
export { type Lifecycle, lifecycleOf } from './lifecycle.js';
export { main } from './main.js';
export { formatOf, type Migration, migrate, REPEAT_MS, repeatMigrations, requireFormat } from './migrations.js';
export * from './module.js';
export { type Running, run } from './run.js';
export { processSettings } from './settings.js';
export { type CheckReport, readCheckReport } from './unclean-end.js';
export { VERSION } from './version.js';
