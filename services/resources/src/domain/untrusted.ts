import type { Node, UntrustedWriter } from './node.js';

/** Milliseconds for which an import is untrusted: 24 hours, in which people can review it. */
const IMPORT_MS = 24 * 3600 * 1000;

/** Returns the kinds of untrusted writers of a node, as of `now` in epoch milliseconds. */
export function untrustedAuthors(node: Node, now: number): UntrustedWriter[] {
  const { untrusted = [], form, createdBy, type } = node;
  const found = new Set(untrusted);
  if (form !== undefined) found.add('form');
  // Only a respondent of a form can upload a file without an account.
  if (type === 'file' && createdBy.type === 'system') found.add('file');
  if (isFreshImport(node, now)) found.add('import');
  return [...found];
}

function isFreshImport({ importId, createdAt, createdBy, written }: Node, now: number): boolean {
  const isFresh = (at: string) => now - Date.parse(at) < IMPORT_MS;
  if ((importId !== undefined || createdBy.type === 'import') && isFresh(createdAt)) return true;
  return written?.by.type === 'import' && isFresh(written.at);
}

/** Returns the untrusted writers of a node after another write; undefined if there are none. */
export function withWriter(
  before: Node['untrusted'],
  writer: UntrustedWriter | undefined,
): readonly UntrustedWriter[] | undefined {
  return writer === undefined || before?.includes(writer) ? before : [...(before ?? []), writer];
}
