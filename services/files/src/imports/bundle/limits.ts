import { ImportFault } from '../sources/port.js';

/** Holds the limits of an archive. */
export interface ArchiveLimits {
  readonly archiveBytes: number;
  /** Bytes of all entries, unpacked. */
  readonly unpackedBytes: number;
  /** Bytes of one entry, unpacked. */
  readonly entryBytes: number;
  readonly entries: number;
  /** Bytes that one byte of the archive unpacks to. */
  readonly ratio: number;
  /** Levels of archives within archives. */
  readonly nesting: number;
  /** Characters of a path. */
  readonly pathLength: number;
}

/** Settings that raise the limits, named in error messages. */
const SETTINGS: Record<keyof ArchiveLimits, string> = {
  archiveBytes: 'COMMONPLACE_IMPORT_ARCHIVE_BYTES',
  unpackedBytes: 'COMMONPLACE_IMPORT_UNPACKED_BYTES',
  entryBytes: 'COMMONPLACE_FILE_BYTES',
  entries: 'COMMONPLACE_IMPORT_ENTRIES',
  ratio: 'COMMONPLACE_IMPORT_RATIO',
  nesting: 'COMMONPLACE_IMPORT_NESTING',
  pathLength: 'COMMONPLACE_IMPORT_PATH_LENGTH',
};

const CODES: Record<keyof ArchiveLimits, string> = {
  archiveBytes: 'archive_too_large',
  unpackedBytes: 'archive_unpacked_too_large',
  entryBytes: 'archive_entry_too_large',
  entries: 'archive_too_many_entries',
  ratio: 'archive_ratio_exceeded',
  nesting: 'archive_too_deep',
  pathLength: 'archive_path_too_long',
};

/** Reports a problem with the whole archive, which ends the import. */
export class ArchiveFault extends ImportFault {}

/** Creates the fault of an archive beyond a limit; it names the setting that raises the limit. */
export function limitFault(limits: ArchiveLimits, which: keyof ArchiveLimits, what: string): ArchiveFault {
  const raise = `The limit is ${limits[which]}; the operator can raise it by ${SETTINGS[which]}.`;
  return new ArchiveFault(CODES[which], `${what} ${raise}`);
}

/** Unpacked bytes up to which the ratio is not checked. */
const RATIO_FROM_BYTES = 1024 * 1024;

/** Counts what an archive and those within it contain. */
export interface Tally {
  entries: number;
  unpacked: number;
}

/** Counts entries before they are read. */
export function countEntries(tally: Tally, more: number, limits: ArchiveLimits): void {
  tally.entries += more;
  if (tally.entries > limits.entries) {
    throw limitFault(limits, 'entries', `The archive has ${tally.entries} entries or more.`);
  }
}

/** Counts the unpacked size that the directory gives for one entry. */
export function countEntry(tally: Tally, path: string, bytes: number, limits: ArchiveLimits): void {
  if (bytes > limits.entryBytes) throw limitFault(limits, 'entryBytes', `${path} unpacks to ${bytes} bytes.`);
  tally.unpacked += bytes;
  if (tally.unpacked > limits.unpackedBytes) {
    throw limitFault(limits, 'unpackedBytes', `The archive unpacks to ${tally.unpacked} bytes or more.`);
  }
}

/** Refuses an archive that unpacks to more than the allowed multiple of its size. */
export function requireRatio(unpacked: number, archiveBytes: number, limits: ArchiveLimits): void {
  if (unpacked <= RATIO_FROM_BYTES || unpacked <= archiveBytes * limits.ratio) return;
  throw limitFault(limits, 'ratio', `The archive unpacks to ${Math.round(unpacked / archiveBytes)} times its size.`);
}
