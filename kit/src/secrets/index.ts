export * from './envelope.js';
export * from './keys.js';
