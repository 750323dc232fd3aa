export * from './envelope.js';
export * from './follow.js';
export { type Dependency, untilAvailable } from './outage.js';
export * from './port.js';
export { createWakeSignal } from './wake-signal.js';
