import { fingerprint } from '../../id/index.js';
import { matchesType } from '../port.js';

export const STREAM = 'COMMONPLACE';

/** What the streams, subjects and consumers of one bus are called. */
export interface Names {
  readonly stream: string;
  readonly streamSubjects: string[];
  /** Holds parked events, and how often an event was tried whose consumer ended meanwhile. */
  readonly parkedStream: string;
  readonly parkedSubjects: string[];
  /** The subject of a type, or the filter of a prefix of types. */
  subject(type: string): string;
  /** Where one consumer gets its parked events again. */
  again(consumer: string): string;
  parked(consumer: string, eventId?: string): string;
  attempts(consumer: string, eventId: string): string;
  /** Where who leads a consumer answers, by the server's name for it. Kept by no stream. */
  lead(consumer: string, pin: string): string;
  /** The durable name of a consumer. */
  durable(consumer: string): string;
}

/** The names below a stream. Any other than the usual one keeps its subjects under a prefix of its own. */
export function createNames(stream: string = STREAM): Names {
  const root = stream === STREAM ? 'commonplace' : `${stream.toLowerCase()}.commonplace`;
  return {
    stream,
    streamSubjects: [`${root}.>`, `${root}-again.*`],
    parkedStream: `${stream}_PARKED`,
    parkedSubjects: [`${root}-parked.>`, `${root}-attempts.>`],
    subject: (type) => `${root}${type.slice('commonplace'.length)}`,
    again: (consumer) => `${root}-again.${token(consumer)}`,
    parked: (consumer, eventId) => `${root}-parked.${token(consumer)}.${eventId === undefined ? '*' : token(eventId)}`,
    attempts: (consumer, eventId) => `${root}-attempts.${token(consumer)}.${token(eventId)}`,
    lead: (consumer, pin) => `${root}-lead.${token(consumer)}.${token(pin)}`,
    durable: token,
  };
}

/** Text as one token of a subject, or as a name. */
function token(text: string): string {
  return /^[A-Za-z0-9_-]{1,100}$/.test(text) ? text : `x-${fingerprint(text)}`;
}

/** Tells a type that can be published. */
export function isType(type: string): boolean {
  return type.length <= 200 && /^commonplace(\.[A-Za-z0-9_-]+)+$/.test(type);
}

/** Patterns that no other of them covers: the server refuses filters that overlap. */
export function disjoint(patterns: readonly string[]): string[] {
  const unique = [...new Set(patterns)];
  return unique.filter((pattern) => {
    const others = unique.filter((other) => other !== pattern && other.endsWith('.>'));
    return !matchesType(pattern, others);
  });
}
