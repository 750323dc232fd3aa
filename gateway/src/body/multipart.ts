import { type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { AppError, invalidField } from '@commonplace/kit/errors';
import { readFormData } from '@commonplace/kit/http';
import type { FilePart } from '@commonplace/proto/api/v1/access.js';

/** Name of the part that holds the bytes of a file. */
export const FILE_PART = 'file';
/** A file, and the fields of a request, each of which is a part. */
const BOUNDS = { parts: 100, files: 10 };

/**
 * Converts a `multipart/form-data` body to the equivalent JSON body, so that one reader handles both forms, and a
 * repeated request has the same fingerprint whatever its boundary. Throws `unsupported_media_type` for a malformed
 * body, `invalid_json` for one that gives a field twice, and `missing_field` for one without a file.
 */
export async function multipartToJson(
  contentType: string,
  body: Buffer,
  input: DescMessage,
  filePart: FilePart,
): Promise<Buffer> {
  const parts = await readParts(contentType, body);
  const file = parts.get(FILE_PART);
  if (file === undefined) throw invalidField(FILE_PART, 'missing_field', 'is required in multipart/form-data.');
  const fields: Record<string, unknown> = {};
  for (const [name, value] of parts) {
    if (name !== FILE_PART && typeof value === 'string') {
      fields[name] = isText(input, name) ? value : parsedOrText(value);
    }
  }
  const bytes = typeof file === 'string' ? Buffer.from(file) : Buffer.from(await file.arrayBuffer());
  fields[filePart.bytes] = bytes.toString('base64');
  if (file instanceof File) {
    setAbsent(fields, filePart.name, file.name);
    setAbsent(fields, filePart.type, file.type);
  }
  return Buffer.from(JSON.stringify(fields));
}

async function readParts(contentType: string, body: Buffer): Promise<ReadonlyMap<string, string | File>> {
  const parts = new Map<string, string | File>();
  const form = await readFormData(contentType, body, BOUNDS).catch((cause) => {
    if (cause instanceof AppError) throw cause;
    const message = 'The body is not multipart/form-data that can be read: its Content-Type names the boundary.';
    throw new AppError('INVALID_ARGUMENT', 'unsupported_media_type', message, { cause });
  });
  for (const [name, value] of form) {
    if (parts.has(name) || name === '__proto__')
      throw invalid(`The body has more than one part ${name.slice(0, 100)}.`);
    if (typeof value !== 'string' && name !== FILE_PART) {
      throw invalid(`The part ${name.slice(0, 100)} is a file: send the file as the part "${FILE_PART}".`);
    }
    parts.set(name, value);
  }
  return parts;
}

/** Returns whether a part contains the plain value of its field. Parts of other fields contain JSON. */
function isText({ fields }: DescMessage, name: string): boolean {
  const field = fields.find((one) => one.name === name);
  return field === undefined || field.fieldKind === 'enum' || field.scalar === ScalarType.STRING;
}

/**
 * Returns the JSON value that a text is. If it is none or null, returns the text itself, whose type is then refused: a
 * part that is absent says as much as null.
 */
function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text) ?? text;
  } catch {
    return text;
  }
}

function setAbsent(fields: Record<string, unknown>, name: string, value: string): void {
  if (name !== '' && value !== '' && !Object.hasOwn(fields, name)) fields[name] = value;
}

function invalid(message: string): AppError {
  return new AppError('INVALID_ARGUMENT', 'invalid_json', message);
}
