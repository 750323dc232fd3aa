import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { ifThere } from './errors.js';
import type { Names } from './names.js';

/** Milliseconds that events are kept, and within which an id that comes again is dropped. */
export const KEEP = 7 * 24 * 3600 * 1000;
const DEDUPLICATE = 2 * 60 * 1000;

/** Makes the streams where they are missing. What an operator has set on them stays. */
export async function ensureStreams(jsm: JetStreamManager, names: Names, replicas: number): Promise<void> {
  const common = { storage: 'file', retention: 'limits', num_replicas: replicas } as const;
  await ensure(jsm, names.stream, () =>
    jsm.streams.add({
      ...common,
      name: names.stream,
      subjects: names.streamSubjects,
      max_age: nanos(KEEP),
      duplicate_window: nanos(DEDUPLICATE),
    }),
  );
  await ensure(jsm, names.parkedStream, () =>
    jsm.streams.add({ ...common, name: names.parkedStream, subjects: names.parkedSubjects, max_msgs_per_subject: 1 }),
  );
}

async function ensure(jsm: JetStreamManager, name: string, make: () => Promise<StreamInfo>): Promise<void> {
  if ((await ifThere(jsm.streams.info(name))) === undefined) await make();
}
