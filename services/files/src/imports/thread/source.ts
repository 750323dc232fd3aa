import type { Readable } from 'node:stream';
import { startThread } from '@commonplace/kit/program';

import {
  type Bundle,
  type Entry,
  ImportFault,
  type LinkTarget,
  type Source,
  type SourceItem,
  type SourceOptions,
} from '../sources/port.js';
import { createPeer, type Peer, type Port } from './peer.js';
import type { FoundLink, ItemFacts, OpenedSource, OpenTask, PutBody } from './protocol.js';
import type { Further } from './rows.js';

/** Limits for reading a source. */
const BOUNDS = {
  /** Memory of a thread, which holds one source. */
  heapMiB: 512,
  /** Time for one item, together with those that are read concurrently. */
  itemMs: 60_000,
};
/** Milliseconds that opening a source may take; it may have to read all of its content. */
const OPEN_MS = 600_000;

/** Holds the body of an item with its links redirected. */
export interface SourceBody extends Omit<PutBody, 'hasFurther'> {
  /** Yields the rest of a body that is too large for one call. */
  readonly further: (() => AsyncGenerator<Further>) | undefined;
}

/** A source that is read in a thread of its own; this process only passes the results on. */
export interface ThreadSource extends Omit<Source, 'read'> {
  /** Reads one item. Call `body` afterwards to get its body. */
  read(item: SourceItem): Promise<ItemFacts>;
  /**
   * Returns the body of an item that was read. Calls `redirect` once for each link, with the number of its occurrences.
   */
  body(item: SourceItem, redirect: (href: string, times: number) => string | undefined): Promise<SourceBody>;
  /** Returns the URLs of the images that an item shows. */
  images(item: SourceItem): Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * Opens a source in a thread. Rejects with an `ImportFault` when it is not of the expected kind. An item that takes too
 * much time or memory is refused with `page_too_complex`; the next one is read in a new thread.
 */
export async function openThreadSource(
  type: string,
  bundle: Bundle,
  options: SourceOptions,
  { heapMiB, itemMs } = BOUNDS,
): Promise<ThreadSource> {
  const taskOf = (): OpenTask => ({ type, options, tenant: bundle.tenant, entries: bundle.entries.map(plainEntry) });
  let thread: SourceThread | undefined = takeThread(bundle, heapMiB);
  const opened = await thread.ask<OpenedSource>(OPEN_MS, 'open', taskOf()).catch(async (error) => {
    await thread?.close();
    throw error;
  });
  const items = shareTexts(opened.items);
  const places = new Map(items.map((item, seq) => [item, seq]));
  const unavailable = new Map(opened.unavailable.map(([seq, why]) => [items[seq], why]));
  let targets: ReadonlyMap<string, LinkTarget> = new Map();

  async function current(): Promise<SourceThread> {
    if (thread !== undefined && !thread.isGone()) return thread;
    const next = takeThread(bundle, heapMiB);
    thread = next;
    next.begun = next.ask(OPEN_MS, 'open', taskOf());
    return next;
  }

  async function ask<T>(name: string, item: SourceItem, ...args: readonly unknown[]): Promise<T> {
    const active = await current();
    await active.begun;
    return active.ask<T>(itemMs, name, places.get(item), ...args);
  }

  async function* furtherOf(item: SourceItem): AsyncGenerator<Further> {
    for (;;) {
      const piece = await ask<Further | undefined>('further', item);
      if (piece === undefined) return;
      yield piece;
    }
  }

  return {
    items,
    skipped: opened.skipped,
    ...(opened.opaquePaths !== undefined && { opaquePaths: opened.opaquePaths }),
    ...(opened.notes !== undefined && { notes: opened.notes }),
    read: (item) => ask('read', item),
    images: (item) => ask('images', item),
    async body(item, redirect) {
      for (let from = 0; ; ) {
        const links = await ask<FoundLink[]>('links', item, from);
        if (links.length === 0) break;
        targets = new Map(links.map(([href, , target]) => [href.split('#')[0] as string, target]));
        const redirects = links.flatMap(([href, times]) => {
          const to = redirect(href, times);
          return to === undefined ? [] : [[href, to] as const];
        });
        await ask('redirect', item, redirects);
        from += links.length;
      }
      const { hasFurther, ...body } = await ask<PutBody>('body', item);
      return { ...body, further: hasFurther ? () => furtherOf(item) : undefined };
    },
    // Only `redirect` calls this, for links of the latest message.
    resolve: (_from, href) => targets.get(href) ?? { outside: true },
    unavailable: (item) => unavailable.get(item),
    ...(opened.opensFiles && { openFile: (item: SourceItem) => ask<Readable>('openFile', item) }),
    close: async () => thread?.close(),
  };
}

/** Makes equal strings of items share memory, because messages between threads copy them for each item. */
function shareTexts<T extends readonly object[]>(items: T): T {
  const texts = new Map<string, string>();
  const shared = (text: string): string => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  for (const item of items as unknown as Record<string, unknown>[]) {
    for (const key of Object.keys(item)) if (typeof item[key] === 'string') item[key] = shared(item[key]);
  }
  return items;
}

/** Returns an entry with only those fields that may be sent to a thread. */
function plainEntry({ path, sizeBytes, modifiedAt }: Entry): Entry {
  return { path, sizeBytes, ...(modifiedAt !== undefined && { modifiedAt }) };
}

/**
 * Milliseconds that a thread waits for another source after closing one: starting a thread takes a third of a second.
 */
const IDLE_MS = 10_000;

/** Idle thread that waits for its next source. */
let spare: { readonly thread: SourceThread; readonly timer: NodeJS.Timeout } | undefined;

function takeThread(bundle: Bundle, heapMiB: number): SourceThread {
  if (spare === undefined || spare.thread.isGone() || spare.thread.heapMiB !== heapMiB) {
    return startSourceThread(bundle, heapMiB);
  }
  const { thread, timer } = spare;
  spare = undefined;
  clearTimeout(timer);
  thread.serve(bundle);
  return thread;
}

interface SourceThread {
  readonly heapMiB: number;
  /** Sets the bundle that the thread's requests read from. */
  serve(bundle: Bundle | undefined): void;
  /** Resolves once the thread has opened the source again and accepts requests for items. */
  begun?: Promise<unknown>;
  isGone(): boolean;
  ask<T>(timeoutMs: number, name: string, ...args: readonly unknown[]): Promise<T>;
  /** Releases the source; the thread then waits for another one, or ends. */
  close(): Promise<void>;
  end(): Promise<void>;
}

function startSourceThread(first: Bundle, heapMiB: number): SourceThread {
  const entry = new URL('./source-thread.js', import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb: heapMiB };
  const worker = startThread(entry, { name: 'import', resourceLimits });
  let bundle: Bundle | undefined = first;
  let gone = false;
  let cause: unknown;
  const peer: Peer = createPeer(worker as unknown as Port, async (name, [path, limit]) => {
    if (bundle === undefined) throw new Error('the source is closed');
    if (name === 'bundle.open') return bundle.open(path as string);
    if (name === 'bundle.read') return bundle.read(path as string, limit as number);
    throw new Error(`there is no ${name}`);
  });
  const end = (error: Error): void => {
    gone = true;
    peer.end(error);
  };
  worker.on('error', (error) => {
    cause = error;
  });
  worker.on('exit', () => end(endedBy(cause, heapMiB)));

  const thread: SourceThread = {
    heapMiB,
    serve(next) {
      bundle = next;
      if (next === undefined) worker.unref();
      else worker.ref();
    },
    isGone: () => gone,
    async ask(timeoutMs, name, ...args) {
      const timer = setTimeout(() => {
        end(tooComplex(`takes more than ${timeoutMs / 1000} seconds to read`));
        void worker.terminate();
      }, timeoutMs);
      try {
        return await peer.call(name, ...args);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      const isIdle = !gone && (await thread.ask(CLOSE_MS, 'close').then(Boolean, () => false));
      if (isIdle && spare === undefined) {
        thread.serve(undefined);
        const timer = setTimeout(() => void endSpare(), IDLE_MS);
        timer.unref();
        spare = { thread, timer };
        return;
      }
      await thread.end();
    },
    async end() {
      end(new ImportFault('conversion_stopped', 'The import was stopped.', true));
      await worker.terminate();
    },
  };
  return thread;
}

/** Milliseconds in which a thread has to release its source; a busy thread is terminated. */
const CLOSE_MS = 200;

async function endSpare(): Promise<void> {
  const { thread } = spare ?? {};
  spare = undefined;
  await thread?.end();
}

function endedBy(cause: unknown, heapMiB: number): ImportFault {
  if ((cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return tooComplex(`takes more than ${heapMiB} MiB of memory to read`);
  }
  return new ImportFault('conversion_crashed', 'The thread that reads the source ended unexpectedly.', true, { cause });
}

function tooComplex(why: string): ImportFault {
  return new ImportFault('page_too_complex', `The page, or one that was read at the same time, ${why}. Split it.`);
}
