export interface MediaSettings {
  /** Milliseconds per task, after which its process is killed. */
  readonly thumbnailTimeoutMs: number;
  readonly textTimeoutMs: number;
  /** Total memory of one process, beyond which it is killed. */
  readonly memoryBytes: number;
  /** Bytes beyond which a file is not opened. */
  readonly maxFileBytes: number;
  readonly maxPixels: number;
  readonly maxChars: number;
  readonly maxPages: number;
  readonly maxUnpacked: number;
  /** Processes that run concurrently; one tenant may use all but one of them. */
  readonly processes: number;
  /** Waiting tasks of one tenant beyond which more are refused. */
  readonly maxWaitingPerTenant: number;
  /** Milliseconds that a process waits for another task before it ends. */
  readonly idleMs: number;
}

export const MEDIA_DEFAULTS: MediaSettings = {
  thumbnailTimeoutMs: 20_000,
  textTimeoutMs: 30_000,
  memoryBytes: 576 * 1024 * 1024,
  maxFileBytes: 128 * 1024 * 1024,
  maxPixels: 100_000_000,
  maxChars: 1_000_000,
  maxPages: 5_000,
  maxUnpacked: 128 * 1024 * 1024,
  processes: 2,
  maxWaitingPerTenant: 1000,
  idleMs: 30_000,
};
