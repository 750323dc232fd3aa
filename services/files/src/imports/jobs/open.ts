import { blobKey } from '../../domain/layout.js';
import { blobBytes } from '../bundle/bytes.js';
import { beyond } from '../bundle/limits.js';
import { openSingle } from '../bundle/single.js';
import { type OpenBundle, openZipBundle } from '../bundle/zip.js';
import { type ImportParts, limitsOf } from '../parts.js';
import { FORMATS, type Format } from '../sources/index.js';
import { ImportFault, type SourceOptions } from '../sources/port.js';
import type { ImportRecord } from '../stores/records.js';

/** How an import's source is read. */
export function formatOf({ sourceType, readAs = sourceType }: ImportRecord): Format {
  const format = FORMATS[readAs];
  if (format === undefined) throw new ImportFault('unsupported_format', `${readAs} can’t be read here.`);
  return format;
}

/** Opens the bytes of an import, within the limits. */
export async function openSourceBundle(parts: ImportParts, record: ImportRecord): Promise<OpenBundle> {
  const format = formatOf(record);
  const bytes = await blobBytes(parts.bytes, blobKey(record.blobId ?? ''));
  const limits = limitsOf(parts);
  if (format.archive) return openZipBundle(bytes, limits, parts.scratch);
  if (bytes.size <= limits.archiveBytes) return openSingle(bytes, record.fileName ?? format.fileName);
  await bytes.close();
  throw beyond(limits, 'archiveBytes', `The file has ${bytes.size} bytes.`);
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
