import { type IdentifiedStore, markText, parseMark, type StoreHold } from '@commonplace/kit/installation';
import { type Carrier, ensureCarrier, replaceValue, valueIn } from './carrier.js';
import { calling, ifThere } from './errors.js';
import { type Link, link } from './link.js';
import { createNames } from './names.js';

const CLIENT = 'commonplace installation';

interface EventInstallationOptions {
  readonly url: string;
  readonly replicas?: number;
  readonly stream?: string;
}

/**
 * Opens the event streams as a store that records the id of its installation, and the token of the database that holds
 * it, each in a small stream of its own.
 */
export async function openEventInstallation({
  url,
  replicas = 1,
  stream,
}: EventInstallationOptions): Promise<IdentifiedStore & { readonly hold: StoreHold }> {
  const names = createNames(stream);
  const { nc, js, jsm } = await calling(() => link(url, CLIENT));
  const carrier = { name: `${names.stream}_INSTALLATION`, subject: `${names.root}-installation`, replicas };
  const readId = () =>
    calling(async () => {
      const found = await valueIn(jsm, carrier);
      return found && parseMark(found.text, `the stream ${carrier.name}`);
    });
  return {
    kind: 'events',
    place: `the stream ${names.stream} of NATS at ${hostsOf(url)}`,
    readId,
    isEmpty: () =>
      calling(async () => {
        const info = await ifThere(jsm.streams.info(names.stream));
        return info === undefined || info.state.last_seq === 0;
      }),
    async claim(id, replace = false) {
      await calling(async () => {
        await ensureCarrier(jsm, carrier);
        await replaceValue(js, carrier.subject, markText(id), replace ? undefined : 0);
      });
      return (await readId()) ?? id;
    },
    hold: holdOf(url, { name: `${names.stream}_HOLDER`, subject: `${names.root}-holder`, replicas }),
    close: () => nc.close(),
  };
}

/**
 * Opens the access to the token. Each read or write uses a new connection, because a process makes only two a minute.
 */
function holdOf(url: string, carrier: Carrier): StoreHold {
  const linked = <T>(work: (link: Link) => Promise<T>): Promise<T> =>
    calling(async () => {
      const to = await link(url, CLIENT);
      try {
        return await work(to);
      } finally {
        await to.nc.close();
      }
    });
  return {
    read: () =>
      linked(async ({ jsm }) => {
        const found = await valueIn(jsm, carrier);
        return found && { token: found.text, tag: String(found.seq) };
      }),
    write: (token, before) =>
      linked(async ({ js, jsm }) => {
        await ensureCarrier(jsm, carrier);
        return replaceValue(js, carrier.subject, token, Number(before?.tag ?? 0));
      }),
  };
}

/** Returns the hosts of the servers, without their credentials. */
function hostsOf(url: string): string {
  return url.replaceAll(/[^,/]*@/g, '').replace(/^\w+:\/\//, '');
}
