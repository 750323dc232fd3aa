import { PassThrough } from 'node:stream';
import { newId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import type { Stored } from '../blobs/port.js';

interface Writer<Target> {
  readonly target: Target;
  readonly stream: PassThrough;
  readonly done: Promise<Stored>;
  written: number;
  touched: number;
}

export interface Writers<Target> {
  /** Begins to write what `write` brings; gives what names it. */
  begin(target: Target, put: (source: AsyncIterable<Uint8Array>) => Promise<Stored>): string;
  /** A writer that is at `offset`; undefined where there is none, or it is elsewhere. */
  find(name: string, offset?: number): { readonly target: Target } | undefined;
  /** Resolves when there is room for more. */
  write(name: string, data: Uint8Array): Promise<void>;
  finish(name: string): Promise<Stored>;
  abort(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds after which a writer that nobody writes to is given up. */
const IDLE_MS = 120_000;
/** Pieces that wait to be written. */
const WAITING = 4;

/** Writes that come in pieces, each call one piece; they live in this process alone. */
export function createWriters<Target>(log: Log): Writers<Target> {
  const open = new Map<string, Writer<Target>>();
  const timer = setInterval(() => {
    for (const [name, { touched }] of open) if (Date.now() - touched > IDLE_MS) void writers.abort(name);
  }, IDLE_MS / 4);
  timer.unref();

  const writers: Writers<Target> = {
    begin(target, put) {
      const stream = new PassThrough({ objectMode: true, highWaterMark: WAITING });
      const done = put(stream);
      done.catch((error) => log.debug('write.failed', { error }));
      const name = newId();
      open.set(name, { target, stream, done, written: 0, touched: Date.now() });
      return name;
    },
    find(name, offset) {
      const writer = open.get(name);
      return writer === undefined || (offset !== undefined && offset !== writer.written) ? undefined : writer;
    },
    async write(name, data) {
      const writer = open.get(name) as Writer<Target>;
      writer.written += data.length;
      writer.touched = Date.now();
      if (!writer.stream.write(data)) await Promise.race([drained(writer.stream), writer.done]);
    },
    async finish(name) {
      const writer = open.get(name) as Writer<Target>;
      open.delete(name);
      writer.stream.end();
      return writer.done;
    },
    async abort(name) {
      const writer = open.get(name);
      if (writer === undefined) return;
      open.delete(name);
      writer.stream.destroy(new Error('the upload was given up'));
      await writer.done.catch(() => {});
    },
    async close() {
      clearInterval(timer);
      await Promise.all([...open.keys()].map((name) => writers.abort(name)));
    },
  };
  return writers;
}

function drained(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => stream.once('drain', resolve));
}
