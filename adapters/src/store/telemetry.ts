import { once } from '@commonplace/kit/cache';
import type { DomainEvent } from '@commonplace/kit/events';
import type { Collection, StoredRecord } from '@commonplace/kit/store';
import {
  type Attributes,
  childSpan,
  currentSpan,
  failureOf,
  histogram,
  type Recorder,
  type Span,
  STORE_SECONDS,
  signals,
} from '@commonplace/kit/telemetry';
import { type Read, wrapReads } from './wrap-reads.js';

const durations = histogram('db.client.operation.duration', 's', 'Duration of operations of the store.', STORE_SECONDS);

/** Identifies a store: its kind and the service that owns its records. */
interface StorePlace {
  /** Kind of store: `sqlite`, `mongodb`. */
  readonly system: string;
  /** Name of the service that owns the records. */
  readonly service: string;
  /** Whether reads are done when the call returns, before its promise resolves. */
  readonly synchronous: boolean;
}

interface Operation {
  readonly name: string;
  readonly attributes: Attributes;
  /** Returns the recorder of successes, which is made at the first: most operations of most collections are never measured. */
  succeeded(): Recorder;
}

function operationOf({ system, service }: StorePlace, operation: string, collection?: string): Operation {
  const attributes = {
    'db.system.name': system,
    'db.namespace': service,
    'db.operation.name': operation,
    ...(collection === undefined ? {} : { 'db.collection.name': collection }),
  };
  const name = `${operation} ${collection ?? service}`;
  return { name, attributes, succeeded: once(() => durations.bind(attributes)) };
}

function done(operation: Operation, span: Span | undefined, started: number, error?: unknown): void {
  const seconds = (performance.now() - started) / 1000;
  const failure = error === undefined ? undefined : failureOf(error);
  if (signals.measuring) {
    const { succeeded, attributes } = operation;
    (failure === undefined ? succeeded() : durations.bind({ ...attributes, 'error.type': failure })).record(seconds);
  }
  span?.end(failure);
}

function observed<T>(operation: Operation, synchronous: boolean, run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const span = childSpan(operation.name, 'client', operation.attributes);
  const result = run();
  if (synchronous && span === undefined) done(operation, undefined, started);
  else
    result.then(
      () => done(operation, span, started),
      (error) => done(operation, span, started, error),
    );
  return result;
}

/** Wraps a collection so that its reads are measured and traced. */
export function observeCollection<T extends StoredRecord>(place: StorePlace, collection: Collection<T>): Collection<T> {
  const { synchronous } = place;
  return wrapReads(collection, <A, B, R>(name: string, read: Read<A, B, R>): Read<A, B, R> => {
    const operation = operationOf(place, name, collection.spec.name);
    return (a, b) =>
      signals.measuring || signals.tracer !== undefined
        ? observed(operation, synchronous, () => read(a, b))
        : read(a, b);
  });
}

/** Returns a function that measures and traces the commits of a service's units. */
export function observeCommits(place: StorePlace): (commit: () => Promise<void>) => Promise<void> {
  const operation = operationOf(place, 'commit');
  return (commit) =>
    signals.measuring || signals.tracer !== undefined ? observed(operation, false, commit) : commit();
}

/** Returns the event with the trace context of the span that publishes it. */
export function tracedEvent(event: DomainEvent): DomainEvent {
  const span = currentSpan();
  return span === undefined ? event : { ...event, traceparent: span.traceparent };
}
