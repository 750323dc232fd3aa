export * from './caller.js';
export * from './scopes.js';
export * from './token.js';
