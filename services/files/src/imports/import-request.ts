import { type Fault, invalidFields } from '@commonplace/kit/errors';
import { type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';
import { createBreathe, encodeInSlices } from '@commonplace/kit/slices';
import { enumName } from '@commonplace/platform/enums';
import {
  ImportConflict,
  ImportSourceType,
  type ImportOptions as OptionsMessage,
} from '@commonplace/proto/files/v1/import.js';
import type { CreateImportRequest } from '@commonplace/proto/files/v1/import_service.js';
import type { Settings } from '../config.js';
import { decodeBase64 } from '../domain/base64.js';
import { inlineLimit, sourceLimit } from '../domain/byte-limits.js';
import { tooLarge } from '../errors.js';
import { FORMATS } from './formats.js';
import type { Conflict, ImportOptions } from './stores/records.js';

/** Describes where the bytes of an import come from. */
type SourceOrigin =
  | { readonly fileId: string }
  | { readonly bytes: Buffer }
  | { readonly url: string }
  | { readonly upload: { readonly sizeBytes?: number | undefined; readonly sha256?: string | undefined } };

/** Holds a request to create an import, checked as far as that is possible without reading any state. */
export interface ImportRequest {
  readonly sourceType: string;
  readonly from: SourceOrigin;
  readonly conflict: Conflict;
  readonly options: ImportOptions;
}

/** Parses a request to create an import. Throws all its faults at once, or the first limit that it exceeds. */
export async function readImportRequest(
  request: CreateImportRequest,
  settings: Settings,
  guard: Pick<Guard, 'check'>,
): Promise<ImportRequest> {
  const faults: Fault[] = [];
  const add = (param: string, code: string, message: string) => faults.push({ param, code, message });
  const sourceType = enumName(request.sourceType, 'IMPORT_SOURCE_TYPE');
  requireReadable(request, sourceType, add);
  const from = await readFrom(request, sourceType, guard, add);
  const options = readOptions(request.options, add);
  requireUploadFields(request, add);
  if (faults.length > 0 || from === undefined) throw invalidFields(faults);
  const inline = inlineLimit(settings);
  if ('bytes' in from && from.bytes.length > inline.bytes) {
    throw tooLarge(request.content === undefined ? 'content_base64' : 'content', inline);
  }
  const source = sourceLimit(settings);
  if ('upload' in from && (from.upload.sizeBytes ?? 0) > source.bytes) throw tooLarge('size_bytes', source);
  return { sourceType, from, conflict: conflictOf(request.conflict), options };
}

/** The refusal of imports from a connection: connectors keep access to other systems, and nothing reads from them yet. */
const NO_CONNECTIONS = 'Imports cannot read from connections. Export from the other system, and import its file.';

type Add = (param: string, code: string, message: string) => void;

function requireReadable({ sourceType, sourceUrl }: CreateImportRequest, name: string, add: Add): void {
  if (sourceType === ImportSourceType.CONNECTION) {
    add('source_type', 'unsupported_format', NO_CONNECTIONS);
  } else if (sourceType === ImportSourceType.URL) {
    if (sourceUrl === undefined) {
      add('source_url', 'missing_field', 'source_url is required for source_type "url".');
    }
  } else if (FORMATS[name] === undefined) {
    add('source_type', 'unsupported_format', `${name} can’t be read by this server.`);
  }
}

const SOURCES = ['file_id', 'content', 'content_base64', 'upload', 'source_url', 'connection_id'] as const;

/** Returns the one origin of the bytes that the request names; adds a fault for each further one. */
async function readFrom(
  request: CreateImportRequest,
  name: string,
  guard: Pick<Guard, 'check'>,
  add: Add,
): Promise<SourceOrigin | undefined> {
  const { fileId, content, contentBase64, upload, sourceUrl, connectionId, selection } = request;
  const given = {
    file_id: fileId,
    content,
    content_base64: contentBase64,
    source_url: sourceUrl,
    connection_id: connectionId,
  };
  const names = SOURCES.filter((one) => (one === 'upload' ? upload : given[one] !== undefined));
  for (const extra of names.slice(1)) {
    add(extra, 'ambiguous_target', `must not be sent beside ${names[0]}: both state where the bytes are.`);
  }
  if (selection.length > 0 && connectionId === undefined) {
    add('selection', 'invalid_value', 'selection belongs to a connection_id.');
  }
  switch (names[0]) {
    case 'file_id':
      return { fileId: fileId ?? '' };
    case 'content':
      if (FORMATS[name]?.text === false)
        add('content', 'unsupported_format', `must not be sent for ${name}, which is no text: send content_base64.`);
      return { bytes: await encodeInSlices(content ?? '', createBreathe()) };
    case 'content_base64':
      return { bytes: await bytesOf(contentBase64 ?? '', add) };
    case 'upload':
      return { upload: { sizeBytes: request.sizeBytes, sha256: request.checksumSha256?.toLowerCase() } };
    case 'source_url':
      requireUrl(sourceUrl ?? '', guard, add);
      return { url: sourceUrl ?? '' };
    case 'connection_id':
      if (request.sourceType !== ImportSourceType.CONNECTION) {
        add('connection_id', 'unsupported_format', NO_CONNECTIONS);
      }
      return undefined;
    default:
      if (request.sourceType !== ImportSourceType.CONNECTION && request.sourceType !== ImportSourceType.URL) {
        const message = 'State where the bytes are: file_id, content, content_base64, upload or source_url.';
        add('file_id', 'missing_field', message);
      }
      return undefined;
  }
}

async function bytesOf(text: string, add: Add): Promise<Buffer> {
  const bytes = await decodeBase64(text, createBreathe());
  if (bytes === undefined) add('content_base64', 'invalid_value', 'must be Base64.');
  return bytes ?? Buffer.alloc(0);
}

function requireUrl(url: string, guard: Pick<Guard, 'check'>, add: Add): void {
  try {
    guard.check(url);
  } catch (error) {
    if (!(error instanceof UrlNotAllowed)) throw error;
    add('source_url', 'url_not_allowed', error.message);
  }
}

function requireUploadFields({ upload, sizeBytes, checksumSha256 }: CreateImportRequest, add: Add): void {
  if (!upload && sizeBytes !== undefined) add('size_bytes', 'invalid_value', 'size_bytes belongs to an upload.');
  if (!upload && checksumSha256 !== undefined) {
    add('checksum_sha256', 'invalid_value', 'checksum_sha256 belongs to an upload.');
  } else if (checksumSha256 !== undefined && !/^[0-9a-fA-F]{64}$/.test(checksumSha256)) {
    add('checksum_sha256', 'invalid_value', 'must be 64 hexadecimal digits.');
  }
}

const CONFLICTS: Partial<Record<ImportConflict, Conflict>> = {
  [ImportConflict.SKIP]: 'skip',
  [ImportConflict.UPDATE]: 'update',
};

function conflictOf(conflict: ImportConflict): Conflict {
  return CONFLICTS[conflict] ?? 'rename';
}

/** Maximum number of entries of a user map. */
const MAX_USER_MAP_ENTRIES = 10_000;

/** Signs that the parser does not take for a delimiter: it would guess one instead. */
const NO_DELIMITERS: ReadonlySet<string> = new Set(['"', '\n', '\r', '\uFEFF']);

/** Converts the options of a request to the form in which they are stored, and adds their faults. */
export function readOptions(options: OptionsMessage | undefined, add: Add): ImportOptions {
  if (options === undefined) return {};
  const { csv, splitHeadings, downloadRemoteImages, keepDates, userMap } = options;
  if (csv?.encoding !== undefined && !isEncoding(csv.encoding)) {
    add('options.csv.encoding', 'invalid_value', 'is not a known encoding.');
  }
  if (csv?.delimiter !== undefined && NO_DELIMITERS.has(csv.delimiter)) {
    add('options.csv.delimiter', 'invalid_value', 'must be neither a quotation mark nor a line end.');
  }
  const users: Record<string, unknown> = userMap.length === 0 ? {} : JSON.parse(userMap.toString());
  const entries = Object.entries(users);
  if (entries.length > MAX_USER_MAP_ENTRIES)
    add('options.user_map', 'too_many_items', `may name at most ${MAX_USER_MAP_ENTRIES} people.`);
  for (const [name, value] of entries) {
    if (typeof value === 'string' && value.length <= 320) continue;
    add(`options.user_map.${name}`, 'invalid_type', 'must be the id or the e-mail address of a member.');
  }
  return {
    ...(csv === undefined ? {} : { csv }),
    ...(splitHeadings && { splitHeadings }),
    ...(downloadRemoteImages && { downloadRemoteImages }),
    ...(keepDates && { keepDates }),
    ...(entries.length > 0 && { userMap: users as Record<string, string> }),
  };
}

function isEncoding(label: string): boolean {
  try {
    new TextDecoder(label);
    return true;
  } catch {
    return false;
  }
}
