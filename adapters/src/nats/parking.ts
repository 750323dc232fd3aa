import type { DomainEvent, ParkedEvent, ParkedEvents } from '@commonplace/kit/events';
import type { Link as ConnectedLink } from './connection.js';
import { calling, ifThere } from './errors.js';
import type { Names } from './names.js';

/** Milliseconds that an acknowledgement may take. */
const ACK_TIMEOUT_MS = 5000;

type Link = Pick<ConnectedLink, 'js' | 'jsm'>;

/** Stores events that a consumer could not handle, and the number of attempts at events in work. */
export interface Parking extends ParkedEvents {
  park(consumer: string, parked: ParkedEvent): Promise<void>;
  count(consumer: string): Promise<number>;
  /** Returns the recorded number of attempts at an event. The record survives the process that made it. */
  attempts(consumer: string, event: DomainEvent): Promise<number>;
  note(consumer: string, event: DomainEvent, attempts: number): Promise<void>;
  forget(consumer: string, event: DomainEvent): Promise<void>;
}

interface Place {
  readonly seq: number;
  readonly parked: ParkedEvent;
}

export function createParking(connection: { link(): Promise<Link> }, names: Names): Parking {
  const using = <T>(work: (link: Link) => Promise<T>): Promise<T> => calling(async () => work(await connection.link()));
  const put = (subject: string, value: unknown): Promise<void> =>
    using(async ({ js }) => {
      await js.publish(subject, JSON.stringify(value), { timeout: ACK_TIMEOUT_MS });
    });
  return {
    park: (consumer, parked) => put(names.parked(consumer, parked.event.id), parked),
    consumers: () =>
      using(async (link) => {
        const byToken = await readConsumers(link, names);
        return [...new Set([...byToken.values(), ...(await readParkedConsumers(link, names, byToken))])].sort();
      }),
    parkedConsumers: () => using(async (link) => readParkedConsumers(link, names, await readConsumers(link, names))),
    parked: (consumer) => using(async (link) => (await places(link, names, consumer)).map(({ parked }) => parked)),
    count: (consumer) => using((link) => countPlaces(link, names, consumer)),
    unpark: (consumer, eventIds) =>
      using(async (link) => {
        const chosen = choose(await places(link, names, consumer), eventIds);
        for (const { seq, parked } of chosen) {
          // The message id makes this idempotent: a second caller does not publish the event again.
          const msgID = `${parked.event.id}/${consumer}/${seq}`;
          const payload = JSON.stringify(parked.event);
          await link.js.publish(names.again(consumer), payload, { msgID, timeout: ACK_TIMEOUT_MS });
          await ifThere(link.jsm.streams.deleteMessage(names.parkedStream, seq, false));
        }
        return chosen.length;
      }),
    dropParked: (consumer, eventIds) =>
      using(async (link) => {
        const chosen = choose(await places(link, names, consumer), eventIds);
        for (const { seq } of chosen) await ifThere(link.jsm.streams.deleteMessage(names.parkedStream, seq, false));
        return chosen.length;
      }),
    attempts: (consumer, event) =>
      using(async ({ jsm }) => {
        const query = { last_by_subj: names.attempts(consumer, event.id) };
        const found = await ifThere(jsm.streams.getMessage(names.parkedStream, query));
        return found === undefined || found === null ? 0 : Number(found.string());
      }),
    note: (consumer, event, attempts) => put(names.attempts(consumer, event.id), attempts),
    forget: (consumer, event) =>
      using(async ({ jsm }) => {
        await ifThere(jsm.streams.purge(names.parkedStream, { filter: names.attempts(consumer, event.id) }));
      }),
  };
}

/** Returns the places of the events with the given ids, or all of them. */
function choose(places: readonly Place[], eventIds?: readonly string[]): readonly Place[] {
  return eventIds === undefined ? places : places.filter(({ parked }) => eventIds.includes(parked.event.id));
}

/** Returns the names of the durable consumers by their names on the server. */
async function readConsumers({ jsm }: Link, names: Names): Promise<Map<string, string>> {
  const byToken = new Map<string, string>();
  if ((await ifThere(jsm.streams.info(names.stream))) === undefined) return byToken;
  for await (const { name, config } of jsm.consumers.list(names.stream)) {
    if (config.durable_name !== undefined) byToken.set(name, config.description ?? name);
  }
  return byToken;
}

/** Returns the names of the consumers with parked events; the name on the server of one that no longer exists. */
async function readParkedConsumers(
  { jsm }: Link,
  names: Names,
  byToken: ReadonlyMap<string, string>,
): Promise<string[]> {
  const info = await ifThere(jsm.streams.info(names.parkedStream, { subjects_filter: names.allParked }));
  const tokens = Object.keys(info?.state.subjects ?? {}).map((subject) => subject.split('.').at(-2) as string);
  return [...new Set(tokens)].map((token) => byToken.get(token) ?? token).sort();
}

async function countPlaces({ jsm }: Link, names: Names, consumer: string): Promise<number> {
  const info = await ifThere(jsm.streams.info(names.parkedStream, { subjects_filter: names.parked(consumer) }));
  return Object.values(info?.state.subjects ?? {}).reduce((sum, messages) => sum + messages, 0);
}

/** Returns the positions of a consumer's parked events, in the order in which they were parked. */
async function places(link: Link, names: Names, consumer: string): Promise<Place[]> {
  const filter = names.parked(consumer);
  const count = await countPlaces(link, names, consumer);
  if (count === 0) return [];
  const reader = await link.js.consumers.get(names.parkedStream, { filter_subjects: [filter] });
  const found: Place[] = [];
  const messages = await reader.fetch({ max_messages: count, expires: ACK_TIMEOUT_MS });
  for await (const message of messages) {
    found.push({ seq: message.seq, parked: message.json<ParkedEvent>() });
    if (message.info.pending === 0) break;
  }
  return found;
}
