export { proseOf } from '../page/prose.js';
export { openReaders } from './open.js';
export { readerPage } from './view/reader-page.js';
