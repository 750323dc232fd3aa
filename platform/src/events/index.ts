export { consume, consumeBatches, MEMBER_LEFT, readEvent, type TypedEvent } from './consumer.js';
export type { EventName, Payload } from './payloads.js';
