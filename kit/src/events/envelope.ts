import { newId, newRequestId } from '../id/index.js';
import type { DomainEvent } from './port.js';

/** Facts from which `createEvent` builds an event. */
export interface EventFacts {
  /** The service that owns the fact. */
  readonly service: string;
  /** `<noun>.<verb>`, past tense. */
  readonly type: string;
  /** Id of the aggregate. */
  readonly subject: string;
  readonly data: object;
  readonly tenant?: string | undefined;
  readonly actor?: DomainEvent['actor'];
  /** Id of the request that caused the event; a new id if no request did. */
  readonly requestId?: string | undefined;
  /** Overrides the random id, for an event that a retry may create again for the same fact. */
  readonly id?: string;
  /** RFC 3339; now when absent. */
  readonly time?: string;
  readonly traceparent?: string | undefined;
  readonly credential?: DomainEvent['credential'];
  readonly network?: string | undefined;
  readonly chain?: readonly string[] | undefined;
}

/** Returns the actor for changes that no person or program requested, such as those of a sweep. */
export const systemActor = (service: string, name = service) => ({ type: 'system', id: service, name }) as const;

/** Actor for changes that an operator's command makes. */
export const OPERATOR = systemActor('operator');

/**
 * Creates an event with its envelope. Without a trace context of its own, the event gets that of the unit of work that
 * publishes it.
 */
export function createEvent(facts: EventFacts): DomainEvent {
  const { service, type, subject, data, tenant, actor, traceparent, credential, network } = facts;
  return {
    specversion: '1.0',
    id: `evt_${facts.id ?? newId()}`,
    source: `/${service}`,
    type: `commonplace.${service}.${type}`,
    subject,
    time: facts.time ?? new Date().toISOString(),
    datacontenttype: 'application/json',
    data: { ...data },
    ...(tenant === undefined ? {} : { tenant }),
    requestid: facts.requestId ?? newRequestId(),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(actor === undefined ? {} : { actor }),
    ...(credential === undefined ? {} : { credential }),
    ...(network === undefined ? {} : { network }),
    ...(facts.chain === undefined || facts.chain.length === 0 ? {} : { chain: facts.chain }),
  };
}
