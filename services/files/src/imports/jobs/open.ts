import { blobKey } from '../../domain/layout.js';
import { type Bytes, blobBytes } from '../bundle/bytes.js';
import { type ArchiveLimits, limitFault } from '../bundle/limits.js';
import { openSingle } from '../bundle/single.js';
import { type OpenBundle, openZipBundle } from '../bundle/zip.js';
import { FORMATS, type Format } from '../formats.js';
import { type ImportParts, limitsOf } from '../parts.js';
import { ImportFault, type SourceOptions } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';
import { requireArchive, requireArchiveOf, requireFile } from './source-type.js';

/** Returns the format that an import's source is read in. Throws `unsupported_format`. */
export function formatOf({ sourceType, readAs = sourceType }: ImportRecord): Format {
  const format = FORMATS[readAs];
  if (format === undefined) throw new ImportFault('unsupported_format', `${readAs} can’t be read by this server.`);
  return format;
}

/** Opens the bytes of an import within the limits. */
export async function openSourceBundle(parts: ImportParts, record: ImportRecord): Promise<OpenBundle> {
  return Object.assign(await openBundle(parts, record), { tenant: record.tenant });
}

async function openBundle(parts: ImportParts, record: ImportRecord): Promise<OpenBundle> {
  const format = formatOf(record);
  const openBytes = () => blobBytes(parts.bytes, blobKey(record.blobId ?? ''));
  const bytes = await openBytes();
  const limits = limitsOf(parts);
  const fileName = record.fileName ?? format.fileName;
  const type = record.readAs ?? record.sourceType;
  try {
    if (bytes.size > limits.archiveBytes) throw limitFault(limits, 'archiveBytes', `The file has ${bytes.size} bytes.`);
    if (!format.archive) {
      const openZip = async () => openZipBundle(await openBytes(), limits, parts.scratch);
      await requireFile(bytes, type, fileName, record.options.csv?.encoding, openZip);
      return openSingle(bytes, fileName);
    }
    await requireArchive(bytes, fileName);
    return await openArchive(bytes, limits, parts.scratch, type);
  } catch (error) {
    await bytes.close();
    throw error;
  }
}

async function openArchive(bytes: Bytes, limits: ArchiveLimits, scratch: string, type: string): Promise<OpenBundle> {
  const bundle = await openZipBundle(bytes, limits, scratch);
  try {
    requireArchiveOf(bundle, type);
    return bundle;
  } catch (error) {
    await bundle.close();
    throw error;
  }
}

export function sourceOptions({ options, fileName }: ImportRecord): SourceOptions {
  const { csv, splitHeadings } = options;
  const given = Object.entries(csv ?? {}).filter(([, value]) => value !== undefined);
  return {
    ...(given.length > 0 && { csv: Object.fromEntries(given) }),
    ...(splitHeadings !== undefined && { splitHeadings }),
    ...(fileName !== undefined && { fileName }),
  };
}
