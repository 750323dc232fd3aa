export * from './analysis.js';
export { Kind, pageOf } from './characters.js';
export * from './fold.js';
export * from './stem.js';
