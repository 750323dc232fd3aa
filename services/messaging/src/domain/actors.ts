import { enumName } from '@commonplace/platform/enums';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';

/** Returns an actor's type as the contract names it. */
export function actorType(name: string): ActorType {
  return ActorType[name.toUpperCase() as keyof typeof ActorType] ?? ActorType.UNSPECIFIED;
}

/** Returns an actor's type as records name it. */
export function actorName(type: ActorType | undefined): string {
  return enumName(type ?? ActorType.SYSTEM, 'ACTOR_TYPE');
}
