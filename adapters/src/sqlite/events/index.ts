export { createSqliteBus } from './bus.js';
export { createEventHub, type EventHub } from './hub.js';
export { type ConsumerFacts, type EventFacts, inspectEvents } from './inspect.js';
export { EVENT_TABLES } from './log.js';
export { pruneEvents } from './prune.js';
