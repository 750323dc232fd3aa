import type { JetStreamManager } from '@nats-io/jetstream';
import { nanos, RequestError, type Subscription } from '@nats-io/transport-node';
import type { Log } from '../../log/index.js';
import { createBell } from '../bell.js';
import type { Connection } from './connection.js';
import { ifThere } from './errors.js';
import type { Names } from './names.js';

/** The one group of a consumer whose member leads. */
export const GROUP = 'lead';

/** Milliseconds between two looks at another instance's lead, and how many in a row have to find nobody. */
const LOOK = 1000;
const MISSES = 2;
/** Milliseconds after which lost deliveries come again while a lead changes. */
const HURRY = 250;

/**
 * Tells a lead whose connection has closed from one that is only quiet. Who leads listens on a subject
 * of its own; the server answers at once that nobody does once its connection is gone, and whoever
 * waits takes the lead without waiting for its silence to grow long.
 */
export interface Takeover {
  /** This instance leads, under the server's name for it; undefined: it does not. */
  lead(pin: string | undefined): void;
  /**
   * Gives the lead up, when all that was in hand has been done or given back: so many events. What was
   * on its way to this instance when it stopped is delivered again.
   */
  resign(givenBack: number): Promise<void>;
}

export interface TakeoverOptions {
  readonly connection: Connection;
  readonly names: Names;
  readonly consumer: string;
  /** Milliseconds after which the server delivers again what nobody works on. */
  readonly silenceMs: number;
  readonly log: Log;
}

export function openTakeover({ connection, names, consumer, silenceMs, log }: TakeoverOptions): Takeover {
  const durable = names.durable(consumer);
  const pause = createBell();
  let mine: string | undefined;
  let heard: Subscription | undefined;
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
      await nc.request(names.lead(consumer, pin), undefined, { timeout: LOOK });
      return true;
    } catch (error) {
      // Silence is no answer: it may be busy.
      return !(error instanceof RequestError && error.isNoResponders());
    }
  };

  const look = async (): Promise<void> => {
    let gone: string | undefined;
    for (let misses = 0; misses < MISSES; misses++) {
      if (misses > 0) await pause.sleep(LOOK);
      const pin = pinOf(await consumerInfo());
      const same = gone === undefined || pin === gone;
      if (closed || pin === undefined || pin === mine || !same || (await answers(pin))) return;
      gone = pin;
    }
    log.info('events.taken_over', { consumer });
    await handOver(true);
  };

  const looking = (async (): Promise<void> => {
    while (!closed) {
      await pause.sleep(LOOK);
      if (!closed) await look().catch((error: unknown) => log.debug('events.takeover_failed', { consumer, error }));
    }
  })();

  const listen = async (pin: string): Promise<void> => {
    const { nc } = await connection.link();
    if (mine !== pin || closed) return;
    heard = nc.subscribe(names.lead(consumer, pin), { callback: (_, message) => void message.respond() });
  };

  return {
    lead(pin) {
      if (pin === mine) return;
      mine = pin;
      heard?.unsubscribe();
      heard = undefined;
      if (pin !== undefined) listen(pin).catch(() => {});
    },
    async resign(givenBack) {
      closed = true;
      pause.hush();
      await looking;
      // Until here it answers as the lead, for it had work in hand.
      heard?.unsubscribe();
      if (mine === undefined) return;
      const info = await consumerInfo();
      if (pinOf(info) === mine) await handOver((info?.num_ack_pending ?? 0) > givenBack);
    },
  };
}

function pinOf(info: PinnedInfo | undefined): string | undefined {
  return info?.priority_groups?.find(({ group }) => group === GROUP)?.pinned_client_id || undefined;
}

/** What was delivered to nobody who is there comes again now: a shorter patience makes the server look at all that waits. */
async function deliverAgain(jsm: JetStreamManager, stream: string, durable: string, silenceMs: number): Promise<void> {
  try {
    await jsm.consumers.update(stream, durable, { ack_wait: nanos(HURRY) });
    await new Promise((resolve) => setTimeout(resolve, 2 * HURRY));
  } finally {
    await jsm.consumers.update(stream, durable, { ack_wait: nanos(silenceMs) });
  }
}

/** What the client's type of the server's answer leaves out. */
type PinnedInfo = Awaited<ReturnType<JetStreamManager['consumers']['info']>> & {
  readonly priority_groups?: readonly { readonly group: string; readonly pinned_client_id?: string }[];
};
