import type { DomainEvent, SubscribeOptions } from '@commonplace/kit/events';
import {
  CALL_SECONDS,
  childSpan,
  continuedSpan,
  counter,
  failureOf,
  gauge,
  histogram,
  type NumberPoint,
  outside,
  type Span,
  signals,
  within,
} from '@commonplace/kit/telemetry';

const durations = histogram(
  'messaging.process.duration',
  's',
  'Duration of what a consumer does with its events.',
  CALL_SECONDS,
);
const redeliveries = counter('consumer.redelivered', '{event}', 'Events that a consumer was given again.');
const lags = gauge('consumer.lag', '{event}', 'Events of a consumer that are published and not done.');
const parked = gauge('dlq.size', '{event}', 'Events set aside after the last try of a consumer.');

type Handler = (events: readonly DomainEvent[]) => Promise<void>;

/** Maximum number of events in one delivery that get a span of their own. */
const MAX_SPANS = 32;
/** Name of the destination of all events, as operators know it. */
const DESTINATION = 'commonplace';

/**
 * Wraps a consumer's handler with telemetry: the processing of each event belongs to the trace of its cause, together
 * with all calls that result from it.
 */
export function observeHandler(system: string, { consumer }: SubscribeOptions, handler: Handler): Handler {
  const attributes = {
    'messaging.system.name': system,
    'messaging.operation.name': 'process',
    'messaging.consumer.group.name': consumer,
    'messaging.destination.name': DESTINATION,
  };
  const succeeded = durations.bind(attributes);
  const name = `process ${consumer}`;
  const about = { ...attributes, 'messaging.operation.type': 'process' };
  const finish = (spans: readonly Span[], started: number, error?: unknown) => {
    const failure = error === undefined ? undefined : failureOf(error);
    const recorder = failure === undefined ? succeeded : durations.bind({ ...attributes, 'error.type': failure });
    if (signals.measuring) recorder.record((performance.now() - started) / 1000);
    for (const span of spans) span.end(failure);
  };
  return async (events) => {
    if (!signals.measuring && signals.tracer === undefined) return handler(events);
    const started = performance.now();
    const spans: Span[] = [];
    for (const { id, type, traceparent } of events) {
      if (spans.length === MAX_SPANS) break;
      const facts = { ...about, 'messaging.message.id': id, 'commonplace.event.type': type };
      const span = continuedSpan(traceparent, name, 'consumer', facts);
      if (span !== undefined) spans.push(span);
    }
    if (events.length > 1) for (const span of spans) span.set('messaging.batch.message_count', events.length);
    const [first] = spans;
    try {
      // Calls that the handler makes for all events together belong to the first event's span.
      await (first === undefined ? outside(() => handler(events)) : within(first, () => handler(events)));
      finish(spans, started);
    } catch (error) {
      finish(spans, started, error);
      throw error;
    }
  };
}

/** Counts redeliveries of events to a consumer. */
export function observeRedelivery(consumer: string): (count?: number) => void {
  const series = redeliveries.bind({ 'messaging.consumer.group.name': consumer });
  return (count) => series.add(count);
}

/** Starts the span for sending an event to the broker, as a child of the span that caused it. */
export function sendSpan(system: string, { traceparent, id, type }: DomainEvent): Span | undefined {
  if (signals.tracer === undefined || traceparent === undefined) return undefined;
  return continuedSpan(traceparent, `send ${DESTINATION}`, 'producer', {
    ...sending(system),
    'messaging.message.id': id,
    'commonplace.event.type': type,
  });
}

/** Starts the span for events that a commit appends to the log. */
export function appendSpan(system: string, count: number): Span | undefined {
  if (signals.tracer === undefined || count === 0) return undefined;
  return childSpan(`send ${DESTINATION}`, 'producer', { ...sending(system), 'messaging.batch.message_count': count });
}

function sending(system: string) {
  return {
    'messaging.system.name': system,
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': DESTINATION,
  };
}

/** Facts about one consumer that a bus provides. */
interface ConsumerFacts {
  lag(): Promise<number>;
  parked(): Promise<number>;
}

/** Reports the lag of a consumer while it is subscribed. Returns a function that ends the reports. */
export function observeConsumer(consumer: string, facts: ConsumerFacts): () => void {
  const attributes = { 'messaging.consumer.group.name': consumer };
  const point = async (read: () => Promise<number>): Promise<NumberPoint[]> => [{ attributes, value: await read() }];
  const ends = [lags.observe(() => point(facts.lag)), parked.observe(() => point(facts.parked))];
  return () => {
    for (const end of ends) end();
  };
}

const outboxPending = gauge(
  'outbox.pending',
  '{event}',
  'Events that are committed and not published, counted up to 10,000.',
);
const outboxOldestAge = gauge('outbox.oldest.age', 's', 'Age of the oldest event that is committed and not published.');

/** Returns the number of pending entries and the time of the first one, RFC 3339. */
type Backlog = () => Promise<{ pending: number; oldest: string | undefined }>;

/** Reports the pending entries in the outbox of a service. Returns a function that ends the reports. */
export function observeOutbox(service: string, backlog: Backlog): () => void {
  const attributes = { 'outbox.name': service };
  const ends = [
    outboxPending.observe(async () => [{ attributes, value: (await backlog()).pending }]),
    outboxOldestAge.observe(async () => {
      const { oldest } = await backlog();
      return [{ attributes, value: oldest === undefined ? 0 : Math.max(0, (Date.now() - Date.parse(oldest)) / 1000) }];
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
