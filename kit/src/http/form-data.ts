import { MIMEType } from 'node:util';
import { AppError } from '../errors/index.js';

/** How much `multipart/form-data` may contain: parsing takes as long for an empty part as for a kilobyte of bytes. */
export interface FormDataBounds {
  /** Parts, files among them. */
  readonly parts: number;
  readonly files: number;
}

/** Maximum lines of headers of a part, of which browsers send two, and maximum bytes of headers of all parts. */
const MAX_HEADER_LINES = 4;
const MAX_HEADER_BYTES = 1024 * 1024;

/**
 * Parses a `multipart/form-data` body. Rejects with a TypeError if it is none, and with `invalid_value` beyond the
 * bounds, before it is parsed.
 */
export async function readFormData(contentType: string, body: Buffer, bounds: FormDataBounds): Promise<FormData> {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) throw new TypeError('The Content-Type names no boundary.');
  requireBounds(body, boundary, bounds);
  // The parser gets the boundary whose parts were counted.
  const headers = { 'Content-Type': `multipart/form-data; boundary="${boundary}"` };
  return new Response(new Uint8Array(body), { headers }).formData();
}

/** Returns the boundary in a Content-Type; undefined if it is not `multipart/form-data`, or its boundary not plain. */
export function boundaryOf(contentType: string): string | undefined {
  try {
    const { essence, params } = new MIMEType(contentType);
    const boundary = params.get('boundary') ?? '';
    return essence === 'multipart/form-data' && BOUNDARY.test(boundary) ? boundary : undefined;
  } catch {
    return undefined;
  }
}

/** Matches a boundary (RFC 2046). */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

function requireBounds(body: Buffer, boundary: string, bounds: FormDataBounds): void {
  const delimiter = Buffer.from(`--${boundary}\r\n`);
  let [parts, files, bytes] = [0, 0, 0];
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at)) {
    const start = at + delimiter.length;
    at = endOfHeaders(body, start);
    parts += 1;
    bytes += at - start;
    if (body.subarray(start, at).includes('filename')) files += 1;
    if (parts > bounds.parts || files > bounds.files || bytes > MAX_HEADER_BYTES) throw tooMany(bounds);
  }
}

/** Returns the index of the blank line that ends the headers of a part. */
function endOfHeaders(body: Buffer, start: number): number {
  let at = start;
  for (let lines = 0; lines <= MAX_HEADER_LINES; lines++) {
    const end = body.indexOf('\r\n', at);
    if (end === at || end < 0) return end < 0 ? body.length : end;
    at = end + 2;
  }
  throw new AppError(
    'INVALID_ARGUMENT',
    'invalid_value',
    `A part of multipart/form-data has at most ${MAX_HEADER_LINES} headers.`,
  );
}

function tooMany({ parts, files }: FormDataBounds): AppError {
  const message = `A body of multipart/form-data has at most ${parts} parts, ${files} files and ${MAX_HEADER_BYTES} bytes of headers.`;
  return new AppError('INVALID_ARGUMENT', 'invalid_value', message);
}
