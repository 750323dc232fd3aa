import { type Media, MediaFailure, type MediaReason, openMedia } from '../../../media/index.js';
import { ImportFault } from '../port.js';

let media: Media | undefined;

/**
 * Returns the process that reads Office files, which are untrusted. It starts with the first file and ends when idle.
 */
export function parser(): Media {
  media ??= openMedia({ idleMs: 10_000, processes: 1 });
  return media;
}

/** Ends the process; the next file starts another. */
export async function closeParser(): Promise<void> {
  await media?.close();
  media = undefined;
}

const CODES: Readonly<Record<MediaReason, string>> = {
  unsupported_type: 'unsupported_type',
  too_large: 'document_too_large',
  broken: 'broken_document',
  encrypted: 'encrypted_document',
  suspicious: 'suspicious_archive',
  timeout: 'conversion_timeout',
  out_of_memory: 'conversion_out_of_memory',
  crashed: 'conversion_crashed',
  closed: 'conversion_stopped',
};

/** Converts an error of the file parser to a fault of the import; rethrows other errors. */
export function faultOf(error: unknown, path: string): ImportFault {
  if (error instanceof ImportFault) return error;
  if (!(error instanceof MediaFailure)) throw error;
  const { reason, message } = error;
  return new ImportFault(CODES[reason], `${path}: ${message}`, reason === 'closed' || reason === 'crashed', {
    cause: error,
  });
}
