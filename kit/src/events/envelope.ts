import { newId, newRequestId } from '../id/index.js';
import type { DomainEvent } from './port.js';

/** What an event says, apart from what all events have. */
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
  /** The request that led to it; an id of its own where none did. */
  readonly requestId?: string | undefined;
  /** Overrides the random id, for an event that may be made again for the same fact. */
  readonly id?: string;
  /** RFC 3339; now when absent. */
  readonly time?: string;
  readonly traceparent?: string | undefined;
  readonly credential?: DomainEvent['credential'];
  readonly network?: string | undefined;
  readonly chain?: readonly string[] | undefined;
}

/** The doer of what nobody asked for, such as a sweep. */
export const systemActor = (service: string, name = service) => ({ type: 'system', id: service, name }) as const;

/** The doer of what a command of the operator has changed. */
export const OPERATOR = systemActor('operator');

/** Makes an event in its envelope. Its trace is that of the unit which publishes it, unless it names one. */
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
