import { type Actor, actorOf, type Caller } from '../auth/caller.js';
import { AppError } from '../errors/index.js';
import type { DomainEvent } from '../events/port.js';
import { newId } from '../id/index.js';
import type { UnitOfWork } from '../store/port.js';
import type { CallContext, IncomingCall } from './port.js';

/** What a context needs beside the call itself. */
export interface ContextParts {
  readonly service: string;
  readonly caller: Caller | undefined;
  readonly call: IncomingCall;
  readonly run: Run;
}

/** What one run of a handler gathers; reads gather nothing, and make none of it. */
export interface Run {
  readonly work: UnitOfWork;
  /** Whether the handler has asked for its unit of work. */
  readonly worked: boolean;
  readonly effects: (() => void)[];
  readonly secrets: Set<string>;
}

export function createRun(begin: () => UnitOfWork): Run {
  let work: UnitOfWork | undefined;
  let effects: (() => void)[] | undefined;
  let secrets: Set<string> | undefined;
  return {
    get work() {
      work ??= begin();
      return work;
    },
    get worked() {
      return work !== undefined;
    },
    get effects() {
      effects ??= [];
      return effects;
    },
    get secrets() {
      secrets ??= new Set();
      return secrets;
    },
  };
}

/** The context that a handler gets. */
export function createContext(parts: ContextParts): CallContext {
  const { call, caller, service, run } = parts;
  const { requestId, token, traceparent } = call.metadata;
  const actor = (): Actor => (caller === undefined ? { type: 'system', id: service, name: service } : actorOf(caller));
  return {
    get caller() {
      if (caller === undefined) {
        throw new AppError('UNAUTHENTICATED', 'missing_credentials', 'A credential is needed.');
      }
      return caller;
    },
    get actor() {
      return actor();
    },
    metadata: call.metadata,
    requestId,
    deadline: call.deadline,
    get signal() {
      return call.signal;
    },
    get work() {
      return run.work;
    },
    reply: call.reply,
    // What the caller asked of one record and one request does not hold for calls made on the way.
    get onward() {
      return {
        metadata: { requestId, token, traceparent },
        deadline: call.deadline,
        get signal() {
          return call.signal;
        },
      };
    },
    once: (field) => run.secrets.add(field),
    event: (type, subject, data, tenant) => createEvent({ service, type, subject, data, tenant, actor: actor(), call }),
    afterCommit: (effect) => run.effects.push(effect),
  };
}

interface EventParts {
  service: string;
  type: string;
  subject: string;
  data: Record<string, unknown>;
  tenant: string | undefined;
  actor: Actor;
  call: IncomingCall;
}

function createEvent({ service, type, subject, data, tenant, actor, call }: EventParts): DomainEvent {
  return {
    specversion: '1.0',
    id: `evt_${newId()}`,
    source: `/${service}`,
    type: `commonplace.${service}.${type}`,
    subject,
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    data,
    ...(tenant === undefined ? {} : { tenant }),
    requestid: call.metadata.requestId,
    ...(call.metadata.traceparent === undefined ? {} : { traceparent: call.metadata.traceparent }),
    actor,
  };
}
