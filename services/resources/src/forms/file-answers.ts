import { isObject } from '@commonplace/kit/json';
import { isLongerThan } from '@commonplace/kit/words';
import type { BoundField } from './columns.js';
import type { FormFaults } from './reader.js';

/** A file in a submission: the id of an existing one, or its bytes. */
export type FileAnswer =
  | { readonly name: string; readonly fileId: string }
  | { readonly name: string; readonly bytes: Buffer };

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MAX_FILE_BYTES = 5 * 1024 * 1024;

/** Parses the value of a file field. Returns undefined if it added a fault. */
export function readFiles(
  value: unknown,
  field: Pick<BoundField, 'max_files' | 'accept' | 'type' | 'column'>,
  param: string,
  faults: FormFaults,
): FileAnswer[] | undefined {
  const list = Array.isArray(value) ? value : [value];
  const maxFiles = field.type === 'signature' || field.column?.options.many === false ? 1 : (field.max_files ?? 10);
  if (list.length > maxFiles) return faults.add(param, 'too_many_items', `may have at most ${maxFiles} files.`);
  const files: FileAnswer[] = [];
  for (const one of list) {
    const file = readFile(one);
    if (typeof file === 'string') return faults.add(param, 'invalid_value', file);
    if (!isAccepted(file, field.accept)) {
      return faults.add(param, 'invalid_value', `must be one of ${(field.accept ?? []).join(', ')}.`);
    }
    files.push(file);
  }
  return files;
}

/** Returns the file of an answer, or the message that says what is wrong with it. */
function readFile(given: unknown): FileAnswer | string {
  if (typeof given === 'string' && UUID.test(given)) return { name: '', fileId: given.toLowerCase() };
  if (!isObject(given)) return WRONG;
  const { file_id: id, name, content_base64: content, ...others } = given;
  if (Object.keys(others).length > 0) return WRONG;
  if (typeof id === 'string' && UUID.test(id) && content === undefined) return { name: '', fileId: id.toLowerCase() };
  if (id !== undefined || typeof name !== 'string' || typeof content !== 'string') return WRONG;
  const plain = name.trim();
  if (plain === '' || isLongerThan(plain, 255) || /[\p{Cc}/\\]/u.test(plain))
    return 'A file must have a name of 1 to 255 characters without a path.';
  const bytes = decodeBase64(content);
  if (bytes === undefined) return 'content_base64 must be Base64.';
  if (bytes.length > MAX_FILE_BYTES) return `A file may have at most ${MAX_FILE_BYTES} bytes.`;
  return { name: plain, bytes };
}

/**
 * Decodes Base64, padded or not. Returns undefined for another text. A pattern would take 40 ns for each character; Node
 * skips characters that it does not know, so that fewer bytes than expected say that there were some. It also knows
 * those of the alphabet for URLs.
 */
function decodeBase64(text: string): Buffer | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const length = text.length - padding;
  if (length % 4 === 1 || (padding > 0 && text.length % 4 !== 0) || text.includes('-') || text.includes('_')) return;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === Math.floor((length * 3) / 4) ? bytes : undefined;
}

const WRONG = 'A file must be its id, or {"name", "content_base64"}.';

/** Checks a file's extension only; the files service determines the type from the bytes. */
function isAccepted(file: FileAnswer, accept: readonly string[] | undefined): boolean {
  if (accept === undefined || accept.length === 0 || 'fileId' in file) return true;
  const ending = /\.[A-Za-z0-9]+$/.exec(file.name)?.[0].toLowerCase() ?? '';
  return accept.some((one) =>
    one.startsWith('.') ? one.toLowerCase() === ending : (MEDIA[ending] ?? '').startsWith(one.replace(/\*$/, '')),
  );
}

/** Media types of the extensions that forms commonly accept. */
const MEDIA: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.csv': 'text/csv',
  '.doc': 'application/msword',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.gif': 'image/gif',
  '.heic': 'image/heic',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mov': 'video/quicktime',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.odt': 'application/vnd.oasis.opendocument.text',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.ppt': 'application/vnd.ms-powerpoint',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.rtf': 'application/rtf',
  '.svg': 'image/svg+xml',
  '.tif': 'image/tiff',
  '.tiff': 'image/tiff',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.xls': 'application/vnd.ms-excel',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.zip': 'application/zip',
};
