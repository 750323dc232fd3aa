export * from './analysis.js';
export { Kind, kindOfUnit } from './characters.js';
export * from './fold.js';
export * from './stem.js';
