import { type Fault, invalidFields } from '@commonplace/kit/errors';
import { type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';
import { createBreathe } from '@commonplace/kit/slices';
import type { CreateFileRequest } from '@commonplace/proto/files/v1/file_service.js';
import type { Settings } from '../config.js';
import { decodeBase64 } from '../domain/base64.js';
import { fileLimit, inlineLimit } from '../domain/byte-limits.js';
import { tooLarge } from '../errors.js';

/** Holds a request to create a file, checked as far as that is possible without reading any state. */
export interface FileRequest {
  /** Empty for a new version that keeps the file's name. */
  readonly name: string;
  readonly contentType: string | undefined;
  readonly sizeBytes: number | undefined;
  /** Lower-case hexadecimal digits. */
  readonly sha256: string | undefined;
  readonly from: { readonly bytes: Buffer } | { readonly url: string } | 'upload';
}

/** Parses a request to create a file. Throws all its faults at once, or the first limit that it exceeds. */
export async function readFileRequest(
  request: CreateFileRequest,
  settings: Settings,
  guard: Pick<Guard, 'check'>,
): Promise<FileRequest> {
  const { name, replaceResourceId, contentBase64, sourceUrl, sizeBytes, checksumSha256 } = request;
  const faults: Fault[] = [];
  const add = (param: string, code: string, message: string) => faults.push({ param, code, message });
  if (name === '' && replaceResourceId === undefined) add('name', 'missing_field', 'name is required.');
  if (contentBase64 !== undefined && sourceUrl !== undefined) {
    add('source_url', 'ambiguous_target', 'must not be sent beside content_base64.');
  }
  if (replaceResourceId !== undefined && (request.parentId ?? request.workspaceId) !== undefined) {
    add(
      'replace_resource_id',
      'ambiguous_target',
      'A new version stays where its file is: omit parent_id and workspace_id.',
    );
  }
  if (checksumSha256 !== undefined && !/^[0-9a-fA-F]{64}$/.test(checksumSha256)) {
    add('checksum_sha256', 'invalid_value', 'must be 64 hexadecimal digits.');
  }
  if (sourceUrl !== undefined) {
    const why = refusalOf(sourceUrl, guard);
    if (why !== undefined) add('source_url', 'url_not_allowed', why);
  }
  const bytes = contentBase64 === undefined ? undefined : await decodeBase64(contentBase64, createBreathe());
  if (contentBase64 !== undefined && bytes === undefined) add('content_base64', 'invalid_value', 'must be Base64.');
  if (faults.length > 0) throw invalidFields(faults);
  const inline = inlineLimit(settings);
  if (bytes !== undefined && bytes.length > inline.bytes) throw tooLarge('content_base64', inline);
  const whole = fileLimit(settings);
  if (sizeBytes !== undefined && sizeBytes > whole.bytes) throw tooLarge('size_bytes', whole);
  return {
    name,
    contentType: request.contentType === '' ? undefined : request.contentType,
    sizeBytes,
    sha256: checksumSha256?.toLowerCase(),
    from: bytes !== undefined ? { bytes } : sourceUrl !== undefined ? { url: sourceUrl } : 'upload',
  };
}

function refusalOf(url: string, guard: Pick<Guard, 'check'>): string | undefined {
  try {
    guard.check(url);
  } catch (error) {
    if (!(error instanceof UrlNotAllowed)) throw error;
    return error.message;
  }
}
