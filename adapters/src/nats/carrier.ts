import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import { ifThere } from './errors.js';
import { PATIENCE_MS } from './link.js';

/** A stream that keeps one small value: the last message on its only subject. */
export interface Carrier {
  readonly name: string;
  readonly subject: string;
  readonly replicas: number;
}

/** Creates the stream if it is missing. */
export async function ensureCarrier(jsm: JetStreamManager, { name, subject, replicas }: Carrier): Promise<void> {
  if ((await ifThere(jsm.streams.info(name))) !== undefined) return;
  await jsm.streams.add({
    name,
    subjects: [subject],
    storage: 'file',
    max_msgs_per_subject: 1,
    num_replicas: replicas,
  });
}

/** Returns the value and its sequence number; undefined if there is none. */
export async function valueIn(
  jsm: JetStreamManager,
  { name, subject }: Pick<Carrier, 'name' | 'subject'>,
): Promise<{ readonly text: string; readonly seq: number } | undefined> {
  const found = await ifThere(jsm.streams.getMessage(name, { last_by_subj: subject }));
  return found === undefined || found === null ? undefined : { text: found.string(), seq: found.seq };
}

/** Codes by which JetStream refuses a message whose expected last sequence is not the actual one. */
const WRONG_LAST_SEQUENCE = [10071, 10164];

/**
 * Replaces the value. With `over`, replaces it only if its sequence number is `over`, where 0 means that there is no
 * value. Returns whether the value was replaced.
 */
export async function replaceValue(
  js: JetStreamClient,
  subject: string,
  text: string,
  over?: number,
): Promise<boolean> {
  const expect = over === undefined ? {} : { expect: { lastSubjectSequence: over } };
  try {
    await js.publish(subject, text, { timeout: PATIENCE_MS, ...expect });
    return true;
  } catch (error) {
    if (!WRONG_LAST_SEQUENCE.includes((error as { code?: number }).code ?? 0)) throw error;
    return false;
  }
}
