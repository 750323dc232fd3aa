import { createWakeSignal } from '@commonplace/kit/events';
import type { Log } from '@commonplace/kit/log';
import type { JetStreamManager } from '@nats-io/jetstream';
import { nanos, RequestError, type Subscription } from '@nats-io/transport-node';
import type { Connection } from './connection.js';
import { ifThere } from './errors.js';
import type { Names } from './names.js';

/** Name of the only priority group of a consumer; its pinned member leads. */
export const GROUP = 'lead';

/**
 * Milliseconds between two checks of another instance's lead, and the number of consecutive checks that must find
 * no lead.
 */
const CHECK_INTERVAL_MS = 1000;
const MISSES = 2;
/** Milliseconds between two checks while no other instance leads, which each cost the server a request. */
const REST_INTERVAL_MS = 5000;
/** Milliseconds after which lost deliveries are redelivered while the lead changes. */
const HURRY_MS = 250;

/**
 * Distinguishes a lead whose connection has closed from one that is only idle. The lead listens on a subject of its
 * own. Once its connection is gone, the server answers at once that there is no listener, and a waiting instance takes
 * over without waiting for the silence timeout.
 */
interface Takeover {
  /** Sets the pin id under which this instance leads on the server; undefined if it does not lead. */
  lead(pin: string | undefined): void;
  /**
   * Gives up the lead after all events in work were acknowledged or given back. `givenBack` is the number of those
   * given back. Events that were on their way to this instance when it stopped are redelivered.
   */
  resign(givenBack: number): Promise<void>;
}

interface TakeoverOptions {
  readonly connection: Connection;
  readonly names: Names;
  readonly consumer: string;
  /** Milliseconds after which the server redelivers unacknowledged events. */
  readonly silenceMs: number;
  readonly log: Log;
}

export function openTakeover({ connection, names, consumer, silenceMs, log }: TakeoverOptions): Takeover {
  const durable = names.durable(consumer);
  const pause = createWakeSignal();
  let mine: string | undefined;
  let leadSubscription: Subscription | undefined;
  let closed = false;

  const consumerInfo = async (): Promise<PinnedInfo | undefined> => {
    const { jsm } = await connection.link();
    return ifThere(jsm.consumers.info(names.stream, durable));
  };

  const handOver = async (again: boolean): Promise<void> => {
    const { jsm } = await connection.link();
    await jsm.consumers.unpin(names.stream, durable, GROUP);
    if (again) await deliverAgain(jsm, names.stream, durable, silenceMs);
  };

  const answers = async (pin: string): Promise<boolean> => {
    const { nc } = await connection.link();
    try {
      await nc.request(names.lead(consumer, pin), undefined, { timeout: CHECK_INTERVAL_MS });
      return true;
    } catch (error) {
      // Any other error is no proof: the lead may be busy.
      return !(error instanceof RequestError && error.isNoResponders());
    }
  };

  /** Returns the milliseconds until the next look. */
  const look = async (): Promise<number> => {
    let gone: string | undefined;
    for (let misses = 0; misses < MISSES; misses++) {
      if (misses > 0) await pause.sleep(CHECK_INTERVAL_MS);
      const pin = pinOf(await consumerInfo());
      const same = gone === undefined || pin === gone;
      if (pin === undefined || pin === mine) return REST_INTERVAL_MS;
      if (closed || !same || (await answers(pin))) return CHECK_INTERVAL_MS;
      gone = pin;
    }
    log.info('events.taken_over', { consumer });
    await handOver(true);
    return CHECK_INTERVAL_MS;
  };

  const looking = (async (): Promise<void> => {
    for (let waitMs = CHECK_INTERVAL_MS; !closed; ) {
      await pause.sleep(waitMs);
      if (closed) return;
      waitMs = await look().catch((error: unknown) => {
        log.debug('events.takeover_failed', { consumer, error });
        return CHECK_INTERVAL_MS;
      });
    }
  })();

  const listen = async (pin: string): Promise<void> => {
    const { nc } = await connection.link();
    if (mine !== pin || closed) return;
    leadSubscription = nc.subscribe(names.lead(consumer, pin), { callback: (_, message) => void message.respond() });
  };

  return {
    lead(pin) {
      if (pin === mine) return;
      mine = pin;
      leadSubscription?.unsubscribe();
      leadSubscription = undefined;
      if (pin !== undefined) listen(pin).catch(() => {});
    },
    async resign(givenBack) {
      closed = true;
      pause.close();
      await looking;
      // Until here this instance answers as the lead, because it had events in work.
      leadSubscription?.unsubscribe();
      if (mine === undefined) return;
      const info = await consumerInfo();
      if (pinOf(info) === mine) await handOver((info?.num_ack_pending ?? 0) > givenBack);
    },
  };
}

function pinOf(info: PinnedInfo | undefined): string | undefined {
  return info?.priority_groups?.find(({ group }) => group === GROUP)?.pinned_client_id || undefined;
}

/**
 * Redelivers the events that were delivered to an instance that is gone: a short acknowledgement timeout makes the
 * server check all pending events.
 */
async function deliverAgain(jsm: JetStreamManager, stream: string, durable: string, silenceMs: number): Promise<void> {
  try {
    await jsm.consumers.update(stream, durable, { ack_wait: nanos(HURRY_MS) });
    await new Promise((resolve) => setTimeout(resolve, 2 * HURRY_MS));
  } finally {
    await jsm.consumers.update(stream, durable, { ack_wait: nanos(silenceMs) });
  }
}

/** The server's answer includes fields that the client's type lacks. */
type PinnedInfo = Awaited<ReturnType<JetStreamManager['consumers']['info']>> & {
  readonly priority_groups?: readonly { readonly group: string; readonly pinned_client_id?: string }[];
};
