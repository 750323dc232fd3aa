import { type Actor, actorOf, type Caller } from '../auth/caller.js';
import { isCancelled } from '../deadline/cancellation.js';
import { AppError } from '../errors/index.js';
import { createEvent } from '../events/envelope.js';
import type { DomainEvent } from '../events/port.js';
import { newId } from '../id/index.js';
import type { UnitOfWork } from '../store/port.js';
import type { CallContext, CallMetadata, CallOptions, IncomingCall, Reply } from './port.js';

// These are classes, because their parts are created on demand at every call: an accessor on a prototype costs nothing
// there, one in an object literal costs about a microsecond.

/** Holds what one run of a handler produces. A run that only reads creates none of it. */
export class Run {
  #work: UnitOfWork | undefined;
  #effects: (() => void)[] | undefined;
  /** Creates the answer after the commit. */
  laterAnswer: (() => Promise<unknown>) | undefined;
  #secrets: Set<string> | undefined;

  /**
   * `acts` is called when the handler is about to cause an effect outside of its unit of work, and `takeTurn` when it
   * waits for other calls that write to the same record.
   */
  constructor(
    private readonly begin: () => UnitOfWork,
    readonly acts: () => void = () => {},
    readonly takeTurn: (collection: string, id: string) => Promise<void> = async () => {},
  ) {}

  get work(): UnitOfWork {
    this.#work ??= this.begin();
    return this.#work;
  }

  /** Whether the handler has accessed its unit of work. */
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

/** Ids of calls whose handlers have asked for one. */
const callIds = new WeakMap<IncomingCall, string>();

/** The context that is passed to a handler. */
export class Context implements CallContext {
  constructor(
    private readonly service: string,
    private readonly known: Caller | undefined,
    private readonly call: IncomingCall,
    private readonly run: Run,
  ) {}

  get caller(): Caller {
    if (this.known === undefined) {
      throw new AppError('UNAUTHENTICATED', 'missing_credentials', 'A credential is required.');
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

  get callId(): string {
    const id = callIds.get(this.call) ?? newId();
    callIds.set(this.call, id);
    return id;
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
    return createEvent({
      ...{ service, type, subject, data, tenant, actor },
      requestId: call.metadata.requestId,
      traceparent: call.metadata.traceparent,
      ...(known !== undefined && { credential: { type: known.credential.type, id: known.credential.id } }),
      ...{ network: known?.network, chain: known?.chain },
    });
  }

  afterCommit(effect: () => void): void {
    this.run.effects.push(effect);
  }

  inTurn(collection: string, id: string): Promise<void> {
    return this.run.takeTurn(collection, id);
  }

  answerAfterCommit(make: () => Promise<unknown>): void {
    this.run.laterAnswer = make;
  }
}

/**
 * Options for calls to other services during a call. They omit the base version and the idempotency key, which apply to
 * the original request only.
 */
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

  get isCancelled(): boolean {
    return isCancelled(this.call);
  }
}
