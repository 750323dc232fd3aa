export * from './envelope.js';
export * from './follow.js';
export { type Dependency, type OutageOptions, untilAvailable } from './outage.js';
export * from './port.js';
export { createWakeSignal, type WakeSignal } from './wake-signal.js';
