import { enumName, enumValue } from '@commonplace/platform/enums';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';

/** Returns the contract's value for the type of an actor in records. */
export function actorType(name: string): ActorType {
  return enumValue(ActorType, name) ?? ActorType.UNSPECIFIED;
}

/** Returns the type of an actor in records for the contract's value. */
export function actorName(type: ActorType | undefined): string {
  return enumName(type ?? ActorType.SYSTEM, 'ACTOR_TYPE');
}
