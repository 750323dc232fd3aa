import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { MediaFailure } from '../failure.js';
import type { TextLimits } from '../protocol.js';

const MAX_ENTRIES = 10_000;
/** The same ratio as for imports: real documents stay far below it. */
const MAX_RATIO = 200;
/** Unpacked bytes up to which the ratio is not checked. */
const RATIO_FROM_BYTES = 16 * 1024 * 1024;
const TEXT_PART = /\.(?:xml|rels|html?|xhtml|opf|ncx|vml|svg|css|json|txt)$/i;
/** First bytes of an OLE file: Office documents with a password are OLE files instead of ZIP archives. */
const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** Gives access to the parts of a ZIP file within limits. */
export interface Archive {
  readonly names: readonly string[];
  /** Returns an unpacked part, or undefined when there is none of that name. Throws `MediaFailure`. */
  read(name: string): Promise<Buffer | undefined>;
}

function refuseBomb(entry: Entry, unpacked: number, { maxUnpacked }: TextLimits): void {
  const { compressedSize, uncompressedSize, fileName } = entry;
  if (uncompressedSize > RATIO_FROM_BYTES && uncompressedSize > compressedSize * MAX_RATIO)
    throw new MediaFailure('suspicious', `${fileName} unpacks to more than ${MAX_RATIO} times its size`);
  if (unpacked > maxUnpacked)
    throw new MediaFailure('too_large', `the parts with text unpack to more than ${maxUnpacked} bytes`);
}

async function entriesOf(zip: ZipFile, limits: TextLimits): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_ENTRIES)
    throw new MediaFailure('suspicious', `the archive has more than ${MAX_ENTRIES} parts`);
  const entries = new Map<string, Entry>();
  let unpacked = 0;
  for await (const entry of zip.eachEntry()) {
    if (entry.isEncrypted()) throw new MediaFailure('encrypted', 'the archive is encrypted');
    if (TEXT_PART.test(entry.fileName)) unpacked += entry.uncompressedSize;
    refuseBomb(entry, unpacked, limits);
    entries.set(entry.fileName, entry);
  }
  return entries;
}

/** Opens a ZIP file. Refuses ZIP bombs by the declared sizes, and no part unpacks to more than declared. */
export async function openArchive(file: Buffer, limits: TextLimits): Promise<Archive> {
  if (file.subarray(0, OLE.length).equals(OLE)) throw new MediaFailure('encrypted', 'the document has a password');
  const zip = await fromBufferPromise(file, { lazyEntries: true, validateEntrySizes: true });
  const entries = await entriesOf(zip, limits);
  return {
    names: [...entries.keys()],
    async read(name) {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      const pieces: Buffer[] = [];
      for await (const piece of await zip.openReadStreamPromise(entry)) pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
    },
  };
}

/**
 * Unpacks all text parts once and discards them, so that a library that reads the archive next meets no wrong sizes.
 */
export async function checkArchive(file: Buffer, limits: TextLimits): Promise<void> {
  const archive = await openArchive(file, limits);
  for (const name of textPartsOf(archive)) await archive.read(name);
}

/** Returns the names of the parts that hold text. */
export const textPartsOf = ({ names }: Archive): string[] => names.filter((name) => TEXT_PART.test(name));
