import type { Actor } from '@commonplace/kit/auth';
import { type Actor as ActorMessage, ActorType } from '@commonplace/proto/api/v1/actor.js';
import { valuesByName } from '../enums/index.js';

/** The contract's types of actors, by their names in records. */
const ACTOR_TYPES: Readonly<Record<Actor['type'], ActorType>> = valuesByName(ActorType);

/** Returns an actor of a record as responses contain it. */
export function actorMessage({ type, id, name }: Actor): ActorMessage {
  return { type: ACTOR_TYPES[type], id, name };
}
