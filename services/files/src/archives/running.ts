import { createHash } from 'node:crypto';
import type { HeldJob } from '@commonplace/kit/jobs';
import { type ArchiveWriteState, wholeEntry } from './entries.js';
import type { ArchiveParts } from './parts.js';
import type { ArchiveFault, ArchiveRecord } from './records.js';
import type { Sink } from './sink.js';

/** Holds the state of one running export in this process. */
export interface RunningExport {
  readonly parts: ArchiveParts;
  readonly hold: HeldJob<ArchiveRecord>;
  readonly sink: Sink;
  readonly written: ArchiveWriteState;
  /** Progress that may be ahead of the stored record. */
  resources: number;
  files: number;
  failed: number;
  faults: ArchiveFault[];
  cursor: string;
  steps: number;
}

/**
 * Writes the entry that lists the checksums of the entries since the last list. Returns its path and its own checksum.
 */
export async function writeSums(running: RunningExport): Promise<{ readonly sums: string; readonly sha256: string }> {
  const { hold, sink, written } = running;
  running.steps++;
  const sums = `checksums/${String(running.steps).padStart(6, '0')}.sha256`;
  const list = Buffer.from(written.sums.join(''));
  await sink.write(await wholeEntry(sums, list, new Date(hold.record.createdAt), written));
  return { sums, sha256: createHash('sha256').update(list).digest('hex') };
}
