import { buffer } from 'node:stream/consumers';
import { dictionary } from '@commonplace/kit/dictionary';
import { blobKey } from '../../domain/layout.js';
import { SNIFF_BYTES, sniff } from '../../media/index.js';
import { lastSegmentOf } from '../domain/url-name.js';
import type { ImportParts } from '../parts.js';
import { ImportFault } from '../sources/port.js';

/** Source type that bytes of a content type are imported as. */
export const BY_CONTENT: Readonly<Record<string, string>> = dictionary({
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/plain': 'markdown',
  'text/csv': 'csv',
  'application/json': 'json',
  'application/zip': 'markdown_zip',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
});

/** Detects the source type of fetched bytes from the bytes and from the last segment of the URL's path. */
export async function typeOfUrl(parts: ImportParts, blobId: string, url: string): Promise<string> {
  const name = lastSegmentOf(url);
  const head = await buffer(parts.bytes.read(blobKey(blobId), { offset: 0, length: SNIFF_BYTES }));
  const contentType = looksLikeHtml(head) ? 'text/html' : await sniff(head, name, undefined);
  const type = BY_CONTENT[contentType.split(';')[0] as string];
  if (type !== undefined) return type;
  throw new ImportFault('unsupported_format', `The URL returns ${contentType}, which can’t be imported.`);
}

function looksLikeHtml(head: Buffer): boolean {
  return /^\s*(?:<!doctype html|<html|<head|<body)/i.test(head.subarray(0, 1024).toString('latin1'));
}
