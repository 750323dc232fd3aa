import type { DomainEvent, SubscribeOptions } from '../events/port.js';
import { CALL_SECONDS } from './buckets.js';
import { counter, gauge, histogram, type NumberPoint } from './instruments.js';
import { childSpan, continuedSpan, failureOf, outside, type Span, signals, within } from './trace.js';

const durations = histogram(
  { name: 'messaging.process.duration', unit: 's', description: 'Duration of what a consumer does with its events.' },
  CALL_SECONDS,
);
const redeliveries = counter({
  name: 'consumer.redelivered',
  unit: '{event}',
  description: 'Events that a consumer was given again.',
});
const lags = gauge({
  name: 'consumer.lag',
  unit: '{event}',
  description: 'Events of a consumer that are published and not done.',
});
const parked = gauge({
  name: 'dlq.size',
  unit: '{event}',
  description: 'Events set aside after the last try of a consumer.',
});

export type Handler = (events: readonly DomainEvent[]) => Promise<void>;

/** Events of one delivery that get a span of their own. */
const MOST_SPANS = 32;
/** Where all events go, as operators know it. */
const DESTINATION = 'commonplace';

/** A consumer's handler, told of: each event belongs to the trace of what caused it, with all that comes of it. */
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
      if (spans.length === MOST_SPANS) break;
      const facts = { ...about, 'messaging.message.id': id, 'commonplace.event.type': type };
      const span = continuedSpan(traceparent, name, 'consumer', facts);
      if (span !== undefined) spans.push(span);
    }
    if (events.length > 1) for (const span of spans) span.set('messaging.batch.message_count', events.length);
    const [first] = spans;
    try {
      // What the handler asks of others for all of them stands below the first.
      await (first === undefined ? outside(() => handler(events)) : within(first, () => handler(events)));
      finish(spans, started);
    } catch (error) {
      finish(spans, started, error);
      throw error;
    }
  };
}

/** Tells that a consumer was given events again. */
export function observeRedelivery(consumer: string): (count?: number) => void {
  const series = redeliveries.bind({ 'messaging.consumer.group.name': consumer });
  return (count) => series.add(count);
}

/** The span of an event's way to the broker, below what caused it. */
export function sendSpan(system: string, { traceparent, id, type }: DomainEvent): Span | undefined {
  if (signals.tracer === undefined || traceparent === undefined) return undefined;
  return continuedSpan(traceparent, `send ${DESTINATION}`, 'producer', {
    ...sending(system),
    'messaging.message.id': id,
    'commonplace.event.type': type,
  });
}

/** The span of events that are appended to the log by the commit that causes them. */
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

/** What can be asked of a bus about one consumer. */
export interface ConsumerFacts {
  lag(): Promise<number>;
  parked(): Promise<number>;
}

/** Tells how far a consumer is for as long as it is subscribed. Gives what ends that. */
export function observeConsumer(consumer: string, facts: ConsumerFacts): () => void {
  const attributes = { 'messaging.consumer.group.name': consumer };
  const point = async (read: () => Promise<number>): Promise<NumberPoint[]> => [{ attributes, value: await read() }];
  const ends = [lags.observe(() => point(facts.lag)), parked.observe(() => point(facts.parked))];
  return () => {
    for (const end of ends) end();
  };
}
