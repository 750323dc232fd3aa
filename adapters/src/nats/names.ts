import { matchesType } from '@commonplace/kit/events';
import { fingerprint } from '@commonplace/kit/id';

const STREAM = 'COMMONPLACE';

/** Names of the streams, subjects and consumers of one bus. */
export interface Names {
  readonly stream: string;
  /** Prefix of all subjects. */
  readonly root: string;
  readonly streamSubjects: string[];
  /** Stream that holds parked events, and the number of attempts at events whose consumer stopped meanwhile. */
  readonly parkedStream: string;
  readonly parkedSubjects: string[];
  /** Returns the subject of an event type, or the filter for a prefix of types. */
  subject(type: string): string;
  /** Returns the subject on which a consumer receives its parked events again. */
  again(consumer: string): string;
  parked(consumer: string, eventId?: string): string;
  /** Filter for the parked events of all consumers. */
  readonly allParked: string;
  attempts(consumer: string, eventId: string): string;
  /** Returns the subject on which the lead of a consumer answers, by its pin id on the server. No stream stores it. */
  lead(consumer: string, pin: string): string;
  /** Returns the subject of a topic's broadcasts. No stream stores it. */
  broadcast(topic: string): string;
  /** Returns the durable name of a consumer. */
  durable(consumer: string): string;
}

/**
 * Returns the names for a stream. Any stream other than the default one puts its subjects under a prefix of its own.
 */
export function createNames(stream: string = STREAM): Names {
  const root = stream === STREAM ? 'commonplace' : `${stream.toLowerCase()}.commonplace`;
  return {
    stream,
    root,
    streamSubjects: [`${root}.>`, `${root}-again.*`],
    parkedStream: `${stream}_PARKED`,
    parkedSubjects: [`${root}-parked.>`, `${root}-attempts.>`],
    subject: (type) => `${root}${type.slice('commonplace'.length)}`,
    again: (consumer) => `${root}-again.${token(consumer)}`,
    parked: (consumer, eventId) => `${root}-parked.${token(consumer)}.${eventId === undefined ? '*' : token(eventId)}`,
    allParked: `${root}-parked.>`,
    attempts: (consumer, eventId) => `${root}-attempts.${token(consumer)}.${token(eventId)}`,
    lead: (consumer, pin) => `${root}-lead.${token(consumer)}.${token(pin)}`,
    broadcast: (topic) => `${root}-broadcast.${token(topic)}`,
    durable: token,
  };
}

/** Returns a text as one token of a subject, or as a name. */
function token(text: string): string {
  return /^[A-Za-z0-9_-]{1,100}$/.test(text) ? text : `x-${fingerprint(text)}`;
}

/** Returns whether an event type is valid for publishing. */
export function isType(type: string): boolean {
  return type.length <= 200 && /^commonplace(\.[A-Za-z0-9_-]+)+$/.test(type);
}

/** Returns the patterns that no other pattern covers, because the server refuses overlapping filters. */
export function disjoint(patterns: readonly string[]): string[] {
  const unique = [...new Set(patterns)];
  return unique.filter((pattern) => {
    const others = unique.filter((other) => other !== pattern && other.endsWith('.>'));
    return !matchesType(pattern, others);
  });
}
