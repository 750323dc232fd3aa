export { openReaders } from './open.js';
export { proseOf } from './view/prose.js';
export { readerPage } from './view/reader-page.js';
