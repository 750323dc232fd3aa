import { type Actor, actorOf, type Caller } from '../auth/caller.js';
import { AppError } from '../errors/index.js';
import type { DomainEvent } from '../events/port.js';
import { newId } from '../id/index.js';
import type { UnitOfWork } from '../store/port.js';
import { isGivenUp } from './given-up.js';
import type { CallContext, CallMetadata, CallOptions, IncomingCall, Reply } from './port.js';

// These are classes because their parts are made on demand, at every call of every rpc: an accessor of a
// prototype costs nothing there, one of an object literal about a microsecond each.

/** What one run of a handler gathers; reads gather nothing, and make none of it. */
export class Run {
  #work: UnitOfWork | undefined;
  #effects: (() => void)[] | undefined;
  #secrets: Set<string> | undefined;

  /** `acts` is told where the handler takes effect elsewhere. */
  constructor(
    private readonly begin: () => UnitOfWork,
    readonly acts: () => void = () => {},
  ) {}

  get work(): UnitOfWork {
    this.#work ??= this.begin();
    return this.#work;
  }

  /** Whether the handler has asked for its unit of work. */
  get worked(): boolean {
    return this.#work !== undefined;
  }

  get effects(): (() => void)[] {
    this.#effects ??= [];
    return this.#effects;
  }

  get secrets(): Set<string> {
    this.#secrets ??= new Set();
    return this.#secrets;
  }
}

/** The context that a handler gets. */
export class Context implements CallContext {
  constructor(
    private readonly service: string,
    private readonly known: Caller | undefined,
    private readonly call: IncomingCall,
    private readonly run: Run,
  ) {}

  get caller(): Caller {
    if (this.known === undefined) {
      throw new AppError('UNAUTHENTICATED', 'missing_credentials', 'A credential is needed.');
    }
    return this.known;
  }

  get actor(): Actor {
    const { service, known } = this;
    return known === undefined ? { type: 'system', id: service, name: service } : actorOf(known);
  }

  get metadata(): CallMetadata {
    return this.call.metadata;
  }

  get requestId(): string {
    return this.call.metadata.requestId;
  }

  get deadline(): number {
    return this.call.deadline;
  }

  get signal(): AbortSignal {
    return this.call.signal;
  }

  get work(): UnitOfWork {
    return this.run.work;
  }

  get reply(): Reply {
    return this.call.reply;
  }

  get onward(): CallOptions {
    return new Onward(this.call);
  }

  once(field: string): void {
    this.run.secrets.add(field);
  }

  acts(): void {
    this.run.acts();
  }

  event(type: string, subject: string, data: Record<string, unknown>, tenant?: string): DomainEvent {
    const { service, actor: doer, known, call } = this;
    const actor = known === undefined || doer.type === 'user' ? doer : { ...doer, person: known.userId };
    return createEvent({ service, type, subject, data, tenant, actor, call });
  }

  afterCommit(effect: () => void): void {
    this.run.effects.push(effect);
  }
}

/** Options of calls made on the way: what the caller asked of one record and one request does not hold there. */
class Onward implements CallOptions {
  readonly metadata: CallMetadata;

  constructor(private readonly call: IncomingCall) {
    const { requestId, token, traceparent, shareLink, background } = call.metadata;
    const metadata = { requestId, token, traceparent, background };
    this.metadata = shareLink === undefined ? metadata : { ...metadata, shareLink };
  }

  get deadline(): number {
    return this.call.deadline;
  }

  get signal(): AbortSignal {
    return this.call.signal;
  }

  get givenUp(): boolean {
    return isGivenUp(this.call);
  }
}

interface EventParts {
  service: string;
  type: string;
  subject: string;
  data: Record<string, unknown>;
  tenant: string | undefined;
  actor: NonNullable<DomainEvent['actor']>;
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
