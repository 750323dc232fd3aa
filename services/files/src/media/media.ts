import { stat } from 'node:fs/promises';
import { resolve as absolute } from 'node:path';
import { essenceOf } from './content-type.js';
import { isExtractable } from './extractable.js';
import { MediaFailure } from './failure.js';
import { type ParserProcess, startParserProcess } from './parser-process.js';
import type { Extraction, Sheet, Task, Thumbnail, WordPage } from './protocol.js';
import { MEDIA_DEFAULTS, type MediaSettings } from './settings.js';
import type { Source } from './source.js';

/** Reads files in a process of its own, one at a time in the order asked. All failures are MediaFailure. */
export interface Media {
  /** A WebP that fits into the box (pixels; the height is the width unless given), upright and without metadata. */
  thumbnail(source: Source, box: { readonly width: number; readonly height?: number }): Promise<Thumbnail>;
  /** The text of a file, for search and readers; `maxChars` only lowers the limit of the settings. */
  extractText(source: Source, contentType: string, options?: { readonly maxChars?: number }): Promise<Extraction>;
  /** A Word document as HTML. */
  readPage(source: Source): Promise<WordPage>;
  /** The names of a workbook's sheets and, where one is named, its cells; one with more rows or columns is refused. */
  readSheet(source: Source, limits: SheetLimits, sheet?: string): Promise<Sheet>;
  /** Ends the process; what waits is rejected. */
  close(): Promise<void>;
}

export interface SheetLimits {
  readonly maxRows: number;
  readonly maxColumns: number;
}

const LARGEST_BOX = 4096;

/** Starts nothing: the process begins with the first task and ends when it was idle. */
export function openMedia(given: Partial<MediaSettings> = {}): Media {
  const settings = { ...MEDIA_DEFAULTS, ...given };
  let process: ParserProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;

  function rest(): void {
    clearTimeout(idle);
    idle = setTimeout(() => {
      void process?.kill();
      process = undefined;
    }, settings.idleMs);
    idle.unref();
  }

  async function perform(task: Task, timeoutMs: number): Promise<unknown> {
    if (closed) throw new MediaFailure('closed', 'the reader of files is closed');
    clearTimeout(idle);
    if (process === undefined || process.isGone) process = startParserProcess(settings);
    try {
      const reply = await process.do(task, timeoutMs);
      if (reply.isSpent) await process.kill();
      if ('value' in reply) return reply.value;
      throw new MediaFailure(reply.reason, reply.message);
    } finally {
      rest();
    }
  }

  function queue<Answer>(task: Task, timeoutMs: number): Promise<Answer> {
    const done = last.then(() => perform(task, timeoutMs));
    last = done.catch(() => undefined);
    return done as Promise<Answer>;
  }

  return {
    async thumbnail(source, { width, height = width }) {
      const box = (side: number) => Math.min(Math.max(Math.round(side), 1), LARGEST_BOX);
      const known = await admit(source, settings.maxFileBytes);
      const { maxPixels, thumbnailTimeoutMs } = settings;
      const task: Task = { kind: 'thumbnail', source: known, width: box(width), height: box(height), maxPixels };
      return asThumbnail(await queue<Thumbnail>(task, thumbnailTimeoutMs));
    },
    async extractText(source, contentType, { maxChars = settings.maxChars } = {}) {
      if (!isExtractable(contentType)) throw new MediaFailure('unsupported_type', `${contentType} has no known text`);
      const known = await admit(source, settings.maxFileBytes);
      const { maxPages, maxUnpacked } = settings;
      const limits = { maxChars: Math.min(maxChars, settings.maxChars), maxPages, maxUnpacked };
      const task: Task = { kind: 'text', source: known, contentType: essenceOf(contentType), limits };
      return queue<Extraction>(task, settings.textTimeoutMs);
    },
    async readPage(source) {
      const known = await admit(source, settings.maxFileBytes);
      const { maxChars, maxPages, maxUnpacked } = settings;
      const task: Task = { kind: 'page', source: known, limits: { maxChars, maxPages, maxUnpacked } };
      return queue<WordPage>(task, settings.textTimeoutMs);
    },
    async readSheet(source, { maxRows, maxColumns }, sheet) {
      const known = await admit(source, settings.maxFileBytes);
      const { maxChars, maxPages, maxUnpacked } = settings;
      const limits = { maxChars, maxPages, maxUnpacked };
      return queue<Sheet>({ kind: 'sheet', source: known, sheet, limits, maxRows, maxColumns }, settings.textTimeoutMs);
    },
    async close() {
      closed = true;
      clearTimeout(idle);
      await process?.kill();
      process = undefined;
      await last;
      clearTimeout(idle);
    },
  };
}

/** A source that may be read: not too large, and with a path that holds in another process. */
async function admit(source: Source, maxBytes: number): Promise<string | Buffer> {
  const size = typeof source === 'string' ? await sizeOf(source) : source.length;
  if (size > maxBytes)
    throw new MediaFailure('too_large', `the file has ${size} bytes, more than ${maxBytes} are not read`);
  return typeof source === 'string' ? absolute(source) : source;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (cause) {
    throw new MediaFailure('broken', 'the file can not be read', { cause });
  }
}

/** Bytes from another process come as they like. */
function asThumbnail(thumbnail: Thumbnail): Thumbnail {
  const { buffer, byteOffset, byteLength } = thumbnail.bytes;
  return { ...thumbnail, bytes: Buffer.from(buffer, byteOffset, byteLength) };
}
