export { type Adoptable, agree } from './agree.js';
export { type Hold, holdStore } from './hold.js';
export { KEY_FILES, requireKeys, type SealingKeys, sealingKeys, strangeKeys } from './keys.js';
export { MARK_FILE, markText, openMarkFile, parseMark } from './mark-file.js';
export { createOwnIds, type OwnIds } from './own-id.js';
export * from './port.js';
