export * from './envelope.js';
export * from './keys.js';
export * from './rewrap.js';
