import type { TracedBus } from '@commonplace/adapters/events';
import { ConfigError } from '@commonplace/kit/config';
import { AppError } from '@commonplace/kit/errors';
import { type Adoptable, agree, type IdentifiedStore, type InstallationRecords } from '@commonplace/kit/installation';
import type { Log } from '@commonplace/kit/log';
import { openWhenThere, type WaitOptions } from './waiting.js';

export interface NatsPlace {
  readonly url: string;
  readonly replicas: number;
}

interface Closable {
  close(): Promise<void>;
}

/** The bus over NATS, and the hold on its streams. */
export interface EventServers extends Closable {
  readonly bus: TracedBus;
}

interface EventServersOptions {
  readonly records: InstallationRecords;
  readonly adopt: readonly Adoptable[];
  /** Whether NATS did not answer when this process started. */
  readonly isAway: boolean;
  /** Holds the streams for this database, so that copies of it cannot use them. */
  readonly hold: (streams: IdentifiedStore) => Promise<Closable>;
  /** Ends the process: the next start prints what to do. */
  readonly end: () => void;
  readonly log: Log;
}

/**
 * Waits until NATS answers, and returns false. Returns true at once if it does not answer and the streams were claimed by
 * an earlier start: a pod that replaces another one then serves without it.
 */
export async function isWithoutNats(
  nats: NatsPlace,
  records: InstallationRecords,
  patience: WaitOptions,
): Promise<boolean> {
  const { openEventInstallation } = await import('@commonplace/adapters/nats');
  const readStreams = () => using(openEventInstallation(nats), async () => {});
  const installation = await openWhenThere('MongoDB', () => records.read(), patience);
  const isClaimed = installation?.bound.includes('events') === true;
  const failure = isClaimed ? await readStreams().catch((error: unknown) => error) : undefined;
  if (failure instanceof AppError && failure.code === 'UNAVAILABLE') {
    patience.log.warn('start.without_server', { server: 'NATS', error: failure.cause ?? failure });
    return true;
  }
  await openWhenThere('NATS', readStreams, patience);
  return false;
}

/**
 * Opens the bus. Nothing is published or consumed before the streams are known to be this installation's and are held; if
 * NATS is away, that is once it answers. Throws ConfigError if they are another installation's, or ends the process if
 * that turns out later.
 */
export async function openEventServers(nats: NatsPlace, options: EventServersOptions): Promise<EventServers> {
  const { records, adopt, isAway, hold, end, log } = options;
  const { openEventInstallation, openNatsBus } = await import('@commonplace/adapters/nats');
  let held: Closable | undefined;
  const holdStreams = async (): Promise<Closable> => {
    const streams = await openEventInstallation(nats);
    try {
      return await hold(streams);
    } catch (error) {
      await streams.close();
      throw error;
    }
  };
  const verify = async () => {
    try {
      await using(openEventInstallation(nats), (streams) => agree(records, [streams], { adopt, log }));
      if (isAway) held ??= await holdStreams();
    } catch (error) {
      if (isAway && error instanceof ConfigError) end();
      throw error;
    }
  };
  const bus = await openNatsBus({ ...nats, log, verify });
  try {
    if (!isAway) held = await holdStreams();
  } catch (error) {
    await bus.close();
    throw error;
  }
  return {
    bus,
    close: async () => {
      await bus.close();
      await held?.close();
    },
  };
}

async function using<T extends Closable>(opening: Promise<T>, work: (store: T) => Promise<unknown>): Promise<void> {
  const store = await opening;
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
