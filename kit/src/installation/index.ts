export { type Adoptable, type AgreeOptions, agree } from './agree.js';
export { type Hold, type HoldOptions, holdStore } from './hold.js';
export { KEY_FILES, keyFingerprint, requireKeys, type SealingKeys, sealingKeys, strangeKeys } from './keys.js';
export { MARK_FILE, type MarkFileOptions, markText, openMarkFile, parseMark } from './mark-file.js';
export { createOwnIds, type OwnIds } from './own-id.js';
export * from './port.js';
