import { PassThrough } from 'node:stream';
import { newId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import type { StoredBytes } from '../blobs/port.js';

interface Writer<Target> {
  readonly target: Target;
  readonly stream: PassThrough;
  readonly done: Promise<StoredBytes>;
  written: number;
  touched: number;
  /** Why the put has failed, if it has. */
  failure?: unknown;
}

interface Writers<Target> {
  /** Begins a put of the bytes that `write` receives. Returns the id of the writer. */
  begin(target: Target, put: (source: AsyncIterable<Uint8Array>) => Promise<StoredBytes>): string;
  /** Returns the writer if it exists and has received exactly `offset` bytes. */
  find(name: string, offset?: number): { readonly target: Target } | undefined;
  /** Resolves when more bytes can be accepted. */
  write(name: string, data: Uint8Array): Promise<void>;
  finish(name: string): Promise<StoredBytes>;
  abort(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds without a write after which a writer is aborted. */
const IDLE_MS = 120_000;
/** Chunks that are buffered for each writer. */
const WAITING = 4;

/** Manages writes that arrive as one call per chunk; they exist in this process only. */
export function createWriters<Target>(log: Log): Writers<Target> {
  const open = new Map<string, Writer<Target>>();
  const timer = setInterval(() => {
    for (const [name, { touched }] of open) if (Date.now() - touched > IDLE_MS) void writers.abort(name);
  }, IDLE_MS / 4);
  timer.unref();

  const writers: Writers<Target> = {
    begin(target, put) {
      const stream = new PassThrough({ objectMode: true, highWaterMark: WAITING });
      // A write may be aborted before anything reads the stream; its error would be uncaught then.
      stream.on('error', () => {});
      const done = put(stream);
      const name = newId();
      const writer: Writer<Target> = { target, stream, done, written: 0, touched: Date.now() };
      done.catch((error) => {
        writer.failure = error;
        log.debug('write.failed', { error });
      });
      open.set(name, writer);
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
      if (writer.failure !== undefined) throw writer.failure;
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
      writer.stream.destroy(new Error('the upload was abandoned'));
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
