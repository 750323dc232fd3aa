export interface MediaSettings {
  /** Of one task, until its process is killed. */
  readonly thumbnailTimeoutMs: number;
  readonly textTimeoutMs: number;
  /** Of the process, all in all; over it, it is killed. */
  readonly memoryBytes: number;
  /** A larger file is not opened. */
  readonly maxFileBytes: number;
  readonly maxPixels: number;
  readonly maxChars: number;
  readonly maxPages: number;
  readonly maxUnpacked: number;
  /** How long the process waits for another task before it ends. */
  readonly idleMs: number;
}

export const MEDIA_DEFAULTS: MediaSettings = {
  thumbnailTimeoutMs: 20_000,
  textTimeoutMs: 60_000,
  memoryBytes: 768 * 1024 * 1024,
  maxFileBytes: 128 * 1024 * 1024,
  maxPixels: 100_000_000,
  maxChars: 1_000_000,
  maxPages: 5_000,
  maxUnpacked: 128 * 1024 * 1024,
  idleMs: 30_000,
};
