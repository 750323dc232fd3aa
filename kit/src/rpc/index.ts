export { callOnce, type OnceCall } from './call-once.js';
export { sooner } from './call-options.js';
export { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from './idempotency.js';
export { factsOf } from './methods.js';
export * from './port.js';
export { requireVersion, type ServerParts, serveMethods } from './serve.js';
export type { LoadClass, Shedding } from './shedding.js';
export { openShedding } from './shedding.js';
export { observeCalled, tracedOptions } from './telemetry.js';
