import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { MediaFailure } from '../failure.js';
import type { TextLimits } from '../protocol.js';

const MAX_ENTRIES = 10_000;
/** As for imports: real documents stay far below it. */
const MAX_RATIO = 200;
/** Below it a ratio means nothing: what is unpacked is small. */
const RATIO_FROM_BYTES = 16 * 1024 * 1024;
const TEXT_PART = /\.(?:xml|rels|html?|xhtml|opf|ncx|vml|svg|css|json|txt)$/i;
/** The start of an OLE file: an Office document with a password is one, instead of an archive. */
const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** A ZIP file whose parts were counted and measured. */
export interface Archive {
  readonly names: readonly string[];
  /** A part, unpacked; undefined where there is none of that name. Throws MediaFailure. */
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

/** Opens a ZIP file; bombs are refused by what the entries say, and no part gives more than its entry says. */
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

/** Unpacks every part with text once and throws it away: a library that reads the archive next meets no lying entry. */
export async function checkArchive(file: Buffer, limits: TextLimits): Promise<void> {
  const archive = await openArchive(file, limits);
  for (const name of archive.names) if (TEXT_PART.test(name)) await archive.read(name);
}
