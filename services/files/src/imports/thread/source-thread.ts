import type { Readable } from 'node:stream';
import { parentPort } from 'node:worker_threads';
import { lowerThreadPriority } from '@commonplace/kit/priority';
import { FORMATS } from '../formats.js';
import { closeParser } from '../sources/common/parser.js';
import { wellFormedValue } from '../sources/common/text.js';
import { type Bundle, ImportFault, type ItemContent, type Source, type SourceItem } from '../sources/port.js';
import { type ItemBody, linksOf, putBodyOf } from './bodies.js';
import { imagesIn } from './images.js';
import { createPeer, type Port } from './peer.js';
import { type FoundLink, type ItemFacts, LINKS_AT_ONCE, type OpenedSource, type OpenTask } from './protocol.js';
import type { Further } from './rows.js';

// Reads the source of one import, off the event loop of the process.
const port = parentPort;
if (port === null) throw new Error('must run in a worker thread');
// Requests that need no thread take precedence when processors are scarce.
lowerThreadPriority(5);

/** Holds an item that was read and not written yet. */
interface ReadItem {
  readonly body: ItemBody;
  links?: readonly [string, number][];
  readonly redirects: Map<string, string>;
  further?: Iterator<Further>;
}

let source: Source | undefined;
const read = new Map<number, ReadItem>();
/** Number of calls that are in progress. */
let reading = 0;
const peer = createPeer(port as Port, async (name, args) => {
  const handler = (handlers as Record<string, (...given: never[]) => Promise<unknown>>)[name];
  if (handler === undefined) throw new Error(`there is no ${name}`);
  if (name === 'close') return handler();
  reading++;
  try {
    return await handler(...(args as never[]));
  } finally {
    reading--;
  }
});

const opened = (): Source => {
  if (source === undefined) throw new Error('the source is not open');
  return source;
};
const itemAt = (seq: number): SourceItem => opened().items[seq] as SourceItem;

/** Returns an item that was read in this thread. Throws if it was read in an earlier thread, which has ended. */
function readAt(seq: number): ReadItem {
  const item = read.get(seq);
  if (item === undefined) throw new ImportFault('conversion_stopped', 'The conversion of the item was stopped.', true);
  return item;
}

const handlers = {
  async open({ type, options, tenant, entries }: OpenTask): Promise<OpenedSource> {
    const format = FORMATS[type];
    if (format === undefined) throw new ImportFault('unsupported_format', `${type} can’t be read by this server.`);
    const known = new Map(entries.map((entry) => [entry.path, entry]));
    const bundle: Bundle = {
      ...(tenant !== undefined && { tenant }),
      entries,
      entry: (path) => known.get(path),
      open: (path) => peer.call<Readable>('bundle.open', path),
      read: (path, limit) => peer.call<Buffer>('bundle.read', path, limit),
    };
    source = await format.open(bundle, options);
    const { items, skipped, opaquePaths, notes, unavailable } = source;
    return {
      items,
      skipped,
      ...(opaquePaths !== undefined && { opaquePaths }),
      ...(notes !== undefined && { notes }),
      opensFiles: source.openFile !== undefined,
      unavailable: items.flatMap((item, seq) => {
        const why = unavailable?.(item);
        return why === undefined ? [] : [[seq, why] as const];
      }),
    };
  },

  async read(seq: number): Promise<ItemFacts> {
    const { markdown, wikiLinks, html, json, ...facts }: ItemContent = wellFormedValue(
      await opened().read(itemAt(seq)),
    );
    const body = {
      ...(markdown !== undefined && { markdown }),
      ...(wikiLinks !== undefined && { wikiLinks }),
      ...(html !== undefined && { html }),
      ...(json !== undefined && { json }),
    };
    read.set(seq, { body, redirects: new Map() });
    return facts;
  },

  images: async (seq: number): Promise<string[]> => imagesIn(wellFormedValue(await opened().read(itemAt(seq)))),

  async links(seq: number, from: number): Promise<FoundLink[]> {
    const item = readAt(seq);
    item.links ??= [...linksOf(item.body)];
    return item.links.slice(from, from + LINKS_AT_ONCE).map(([href, times]) => {
      const path = href.split('#')[0] as string;
      return [href, times, path === '' ? { outside: true } : opened().resolve(itemAt(seq), path)];
    });
  },

  async redirect(seq: number, redirects: readonly (readonly [string, string])[]): Promise<void> {
    for (const [href, to] of redirects) readAt(seq).redirects.set(href, to);
  },

  async body(seq: number) {
    const { body, redirects } = readAt(seq);
    const { further, ...made } = putBodyOf(body, (href) => redirects.get(href));
    if (made.hasFurther) read.set(seq, { body: {}, redirects: new Map(), further });
    else read.delete(seq);
    return made;
  },

  /** Returns the next piece of a body that is written in several; undefined after the last. */
  async further(seq: number): Promise<Further | undefined> {
    const next = readAt(seq).further?.next();
    if (next !== undefined && next.done !== true) return next.value;
    read.delete(seq);
    return undefined;
  },

  async openFile(seq: number): Promise<Readable> {
    const { openFile } = opened();
    if (openFile === undefined) throw new ImportFault('archive_entry_missing', 'The bytes of the file are missing.');
    return openFile(itemAt(seq));
  },

  /** Releases the source. Returns whether no call is in progress, so that the thread may open another source. */
  async close(): Promise<boolean> {
    source = undefined;
    read.clear();
    await closeParser();
    return reading === 0;
  },
};
