export type { Audience } from './audience.js';
export type { EventDraft, EventSource } from './drafts.js';
export * from './seen.js';
export { draftOf, SOURCES } from './sources.js';
export { EVENT_TYPES, type EventType, isEventType, SCOPES_OF } from './types.js';
