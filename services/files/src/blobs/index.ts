export { isKnown, type KeyRecords, openKeyRecords, usedKeys } from '../stores/known.js';
export { BLOB_FOLDER } from './folder.js';
export { type BlobSettings, FILES_FOLDER, openBlobStore } from './open.js';
export { type Listed, requireKey } from './port.js';
