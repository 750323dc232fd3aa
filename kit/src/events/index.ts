export { type Bell, createBell } from './bell.js';
export * from './envelope.js';
export * from './follow.js';
export * from './port.js';
