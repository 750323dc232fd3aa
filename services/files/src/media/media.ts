import { stat } from 'node:fs/promises';
import { resolve as absolute } from 'node:path';
import { createWorkerPool } from '@commonplace/kit/workers';
import { essenceOf } from './content-type.js';
import { isExtractable } from './extractable.js';
import { MediaFailure } from './failure.js';
import { startParserProcess } from './parser-process.js';
import type { Extraction, Reply, Sheet, Task, Thumbnail, WordPage } from './protocol.js';
import { MEDIA_DEFAULTS, type MediaSettings } from './settings.js';
import type { Source } from './source.js';

/**
 * Parses files in separate processes, each one file at a time, which tenants share fairly. All failures are
 * `MediaFailure`s, except the refusal of a tenant with too many waiting files (`concurrency_limited`).
 */
export interface Media {
  /**
   * Creates a WebP that fits into the box (in pixels; the height defaults to the width), upright and without metadata.
   */
  thumbnail(
    tenant: string,
    source: Source,
    box: { readonly width: number; readonly height?: number },
  ): Promise<Thumbnail>;
  /** Extracts the text of a file, for search and readers; `maxChars` can only lower the limit of the settings. */
  extractText(
    tenant: string,
    source: Source,
    contentType: string,
    options?: { readonly maxChars?: number },
  ): Promise<Extraction>;
  /** Converts a Word document to HTML. */
  readPage(tenant: string, source: Source): Promise<WordPage>;
  /**
   * Reads the names of a workbook's sheets and the cells of `sheet`, if given. Refuses a sheet with more rows or
   * columns than `limits`.
   */
  readSheet(tenant: string, source: Source, limits: SheetLimits, sheet?: string): Promise<Sheet>;
  /** Ends the processes and rejects waiting tasks. */
  close(): Promise<void>;
}

interface SheetLimits {
  readonly maxRows: number;
  readonly maxColumns: number;
}

const MAX_BOX_PIXELS = 4096;

/** Creates the parser pool without starting a process: each one starts with a task and ends when idle. */
export function openMedia(given: Partial<MediaSettings> = {}): Media {
  const settings = { ...MEDIA_DEFAULTS, ...given };
  const pool = createWorkerPool<Task, Reply>({
    name: 'files.media',
    size: settings.processes,
    maxWaitingPerTenant: settings.maxWaitingPerTenant,
    start: () => startParserProcess(settings),
    isSpent: (reply) => reply.isSpent,
    idleMs: settings.idleMs,
    closed: () => new MediaFailure('closed', 'the file reader is closed'),
  });

  async function perform<Answer>(tenant: string, task: Task, timeoutMs: number): Promise<Answer> {
    const reply = await pool.do(tenant, task, timeoutMs);
    if ('value' in reply) return reply.value as Answer;
    throw new MediaFailure(reply.reason, reply.message);
  }

  return {
    async thumbnail(tenant, source, { width, height = width }) {
      const box = (side: number) => Math.min(Math.max(Math.round(side), 1), MAX_BOX_PIXELS);
      const known = await admit(source, settings.maxFileBytes);
      const { maxPixels, thumbnailTimeoutMs } = settings;
      const task: Task = { kind: 'thumbnail', source: known, width: box(width), height: box(height), maxPixels };
      return asThumbnail(await perform<Thumbnail>(tenant, task, thumbnailTimeoutMs));
    },
    async extractText(tenant, source, contentType, { maxChars = settings.maxChars } = {}) {
      if (!isExtractable(contentType))
        throw new MediaFailure('unsupported_type', `text cannot be extracted from ${contentType}`);
      const known = await admit(source, settings.maxFileBytes);
      const { maxPages, maxUnpacked } = settings;
      const limits = { maxChars: Math.min(maxChars, settings.maxChars), maxPages, maxUnpacked };
      const task: Task = { kind: 'text', source: known, contentType: essenceOf(contentType), limits };
      return perform<Extraction>(tenant, task, settings.textTimeoutMs);
    },
    async readPage(tenant, source) {
      const known = await admit(source, settings.maxFileBytes);
      const { maxChars, maxPages, maxUnpacked } = settings;
      const task: Task = { kind: 'page', source: known, limits: { maxChars, maxPages, maxUnpacked } };
      return perform<WordPage>(tenant, task, settings.textTimeoutMs);
    },
    async readSheet(tenant, source, { maxRows, maxColumns }, sheet) {
      const known = await admit(source, settings.maxFileBytes);
      const { maxChars, maxPages, maxUnpacked } = settings;
      const limits = { maxChars, maxPages, maxUnpacked };
      const task: Task = { kind: 'sheet', source: known, sheet, limits, maxRows, maxColumns };
      return perform<Sheet>(tenant, task, settings.textTimeoutMs);
    },
    close: () => pool.close(),
  };
}

/** Checks the size of a source and makes its path absolute, so that it is valid in another process. */
async function admit(source: Source, maxBytes: number): Promise<string | Buffer> {
  const size = typeof source === 'string' ? await sizeOf(source) : source.length;
  if (size > maxBytes) throw new MediaFailure('too_large', `the file has ${size} bytes; at most ${maxBytes} are read`);
  return typeof source === 'string' ? absolute(source) : source;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (cause) {
    throw new MediaFailure('broken', 'the file cannot be read', { cause });
  }
}

/** Bytes from another process arrive as any kind of typed array; makes them a `Buffer`. */
function asThumbnail(thumbnail: Thumbnail): Thumbnail {
  const { buffer, byteOffset, byteLength } = thumbnail.bytes;
  return { ...thumbnail, bytes: Buffer.from(buffer, byteOffset, byteLength) };
}
