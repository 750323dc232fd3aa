export type { TracedBus } from './outbox.js';
export { startRelay } from './relay.js';
export { observeHandler, observeOutbox } from './telemetry.js';
