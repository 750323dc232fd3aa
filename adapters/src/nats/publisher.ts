import { AppError } from '@commonplace/kit/errors';
import type { DomainEvent } from '@commonplace/kit/events';
import { failureOf, traceHeaders } from '@commonplace/kit/telemetry';
import { headers } from '@nats-io/transport-node';
import type { Position } from '../events/outbox.js';
import { sendSpan } from '../events/telemetry.js';
import type { Connection, Link } from './connection.js';
import { calling, ifThere, isUnkept } from './errors.js';
import { isType, type Names } from './names.js';

/** Maximum number of events that wait for an acknowledgement at a time; at most one per subject. */
const MAX_IN_FLIGHT = 256;
/** Milliseconds that an acknowledgement may take: acknowledgements on their way are lost with the connection. */
const ACK_TIMEOUT_MS = 2500;
/** Maximum size of a message's headers in bytes. */
const MAX_HEADER_BYTES = 1024;

interface Publisher {
  /** Publishes events to the stream, those of one subject sequentially. Returns the position of each. */
  publish(events: readonly DomainEvent[]): Promise<Position[]>;
  holds(position: Position, id: string): Promise<boolean>;
}

export function createPublisher(connection: Connection, names: Names): Publisher {
  /** Creation time of the stream, with the connection over which it was read. */
  let stream: { link: Link; created: Promise<string> } | undefined;
  const createdOf = (link: Link): Promise<string> => {
    if (stream?.link === link) return stream.created;
    const created = link.jsm.streams.info(names.stream).then((info) => info.created);
    created.catch(() => forget());
    stream = { link, created };
    return created;
  };
  const forget = (): void => {
    stream = undefined;
  };
  connection.onReconnect(forget);

  /**
   * Creates the stream again. Signals before the next attempt that earlier events may be lost, because they have to be
   * published first.
   */
  const mend = async (link: Link): Promise<void> => {
    await link.ensureStreams();
    connection.interrupted();
  };
  const publishOne = async (link: Link, event: DomainEvent): Promise<Position> => {
    const span = sendSpan('nats', event);
    try {
      const options = { msgID: event.id, timeout: ACK_TIMEOUT_MS, headers: headersOf(event, span?.traceparent) };
      const { seq } = await link.js.publish(names.subject(event.type), JSON.stringify(event), options);
      const position = { log: await createdOf(link), seq };
      span?.end();
      return position;
    } catch (error) {
      span?.end(failureOf(error));
      throw error;
    }
  };
  return {
    publish: async (events) => {
      if (events.length === 0) return [];
      const link = await connection.link();
      const limit = (link.nc.info?.max_payload ?? 1 << 20) - MAX_HEADER_BYTES;
      for (const event of events) refuseUnfit(event, limit);
      return calling(async () => {
        try {
          return await inChains(events, (event) => publishOne(link, event));
        } catch (error) {
          if (isUnkept(error)) await mend(link);
          throw error;
        }
      });
    },
    holds: ({ log, seq }, id) =>
      calling(async () => {
        const link = await connection.link();
        const info = await ifThere(link.jsm.streams.info(names.stream));
        if (info === undefined || info.created !== log) {
          forget();
          return false;
        }
        if (seq > info.state.last_seq) return false;
        if (seq < info.state.first_seq) return true;
        const found = await ifThere(link.jsm.streams.getMessage(names.stream, { seq }));
        return found === undefined || found === null || found.header.get('Nats-Msg-Id') === id;
      }),
  };
}

/** Throws INVALID_ARGUMENT for an invalid event, which no retry would make valid. */
function refuseUnfit(event: DomainEvent, limit: number): void {
  const fault = (reason: string, message: string) =>
    new AppError('INVALID_ARGUMENT', reason, message, { details: { id: event.id } });
  if (!isType(event.type)) throw fault('invalid_event_type', `${event.type} is not a valid event type`);
  const size = Buffer.byteLength(JSON.stringify(event));
  if (size > limit)
    throw fault('event_too_large', `an event of ${size} bytes exceeds the broker's maximum of ${limit} bytes`);
}

function headersOf(event: DomainEvent, context = event.traceparent) {
  const all = headers();
  all.set('content-type', 'application/cloudevents+json');
  for (const [name, value] of Object.entries(traceHeaders(context))) all.set(name, value);
  return all;
}

/** Sends events concurrently, but each event only after the previous one of the same subject was acknowledged. */
async function inChains(
  events: readonly DomainEvent[],
  send: (event: DomainEvent) => Promise<Position>,
): Promise<Position[]> {
  const positions = new Map<DomainEvent, Position>();
  const chains = bySubject(events);
  let failed = false;
  const lane = async (): Promise<void> => {
    for (let chain = chains.shift(); chain !== undefined && !failed; chain = chains.shift()) {
      for (const event of chain) {
        if (failed) return;
        positions.set(event, await send(event));
      }
    }
  };
  const lanes = Array.from({ length: Math.min(MAX_IN_FLIGHT, chains.length) }, () =>
    lane().catch((error: unknown) => {
      failed = true;
      throw error;
    }),
  );
  const results = await Promise.allSettled(lanes);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return events.map((event) => positions.get(event) as Position);
}

function bySubject(events: readonly DomainEvent[]): DomainEvent[][] {
  const chains = new Map<string, DomainEvent[]>();
  for (const event of events) {
    const chain = chains.get(event.subject);
    if (chain === undefined) chains.set(event.subject, [event]);
    else chain.push(event);
  }
  return [...chains.values()];
}
