import type { Actor } from '@commonplace/kit/auth';
import { type Actor as ActorMessage, ActorType } from '@commonplace/proto/api/v1/actor.js';

/** The contract's types of actors, by their names in records. */
export const ACTOR_TYPES: Readonly<Record<Actor['type'], ActorType>> = {
  user: ActorType.USER,
  agent: ActorType.AGENT,
  api_key: ActorType.API_KEY,
  automation: ActorType.AUTOMATION,
  import: ActorType.IMPORT,
  system: ActorType.SYSTEM,
};

/** Returns an actor of a record as responses contain it. */
export function actorMessage({ type, id, name }: Actor): ActorMessage {
  return { type: ACTOR_TYPES[type], id, name };
}
