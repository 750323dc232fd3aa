import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { ifThere } from './errors.js';
import type { Names } from './names.js';

/** Milliseconds that events are retained, and milliseconds within which a repeated message id is dropped. */
const RETENTION_MS = 7 * 24 * 3600 * 1000;
const DEDUPLICATE = 2 * 60 * 1000;

export interface StreamOptions {
  readonly names: Names;
  readonly replicas: number;
  /**
   * Records the installation's id before a stream is created: servers that lost their disk have lost that record too.
   */
  readonly verify: () => Promise<void>;
}

/** Creates the streams that are missing. Settings that an operator has changed are kept. */
export async function ensureStreams(jsm: JetStreamManager, { names, replicas, verify }: StreamOptions): Promise<void> {
  const common = { storage: 'file', retention: 'limits', num_replicas: replicas } as const;
  await ensure(jsm, names.stream, async () => {
    await verify();
    return jsm.streams.add({
      ...common,
      name: names.stream,
      subjects: names.streamSubjects,
      max_age: nanos(RETENTION_MS),
      duplicate_window: nanos(DEDUPLICATE),
    });
  });
  await ensure(jsm, names.parkedStream, () =>
    jsm.streams.add({ ...common, name: names.parkedStream, subjects: names.parkedSubjects, max_msgs_per_subject: 1 }),
  );
}

async function ensure(jsm: JetStreamManager, name: string, make: () => Promise<StreamInfo>): Promise<void> {
  if ((await ifThere(jsm.streams.info(name))) === undefined) await make();
}
