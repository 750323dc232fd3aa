import type { EventType } from '@commonplace/platform/public-events';
import type { Event, EventMessage } from '@commonplace/proto/messaging/v1/event_stream_service.js';
import { actorType } from '../domain/actors.js';
import type { StreamEvent } from './records.js';

type Body = Omit<EventMessage, 'id'>;

/** Returns the message field for an event type: `resource.created` is sent as `resourceCreated`. */
export function fieldOf(type: EventType): keyof Body {
  return type.replace(/[._]([a-z])/g, (_, letter: string) => letter.toUpperCase()) as keyof Body;
}

/** Converts an event to its message, with the data that its reader may see. */
export function eventMessage(
  { id, type, time, workspaceId, actor, chain = [] }: StreamEvent,
  data: StreamEvent['data'],
): Event {
  return {
    ...{ id, type, timestamp: time, workspaceId, chain: [...chain] },
    actor: { type: actorType(actor.type), id: actor.id },
    data: Buffer.from(JSON.stringify(data)),
  };
}
