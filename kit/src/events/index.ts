export * from './envelope.js';
export * from './follow.js';
export * from './port.js';
export { createWakeSignal, type WakeSignal } from './wake-signal.js';
