import { namesByValue } from '@commonplace/platform/enums';
import { type AccessibleResource, UntrustedAuthor } from '@commonplace/proto/resources/v1/index_service.js';
import type { TaintSource } from '../domain/taint.js';

const TYPES: Readonly<Partial<Record<UntrustedAuthor, TaintSource['type']>>> = namesByValue(UntrustedAuthor);

/**
 * Returns the first taint of a resource's content; undefined if it has none. An unknown kind of author counts as a
 * guest.
 */
export function taintOf({ id, name, untrusted }: AccessibleResource): TaintSource | undefined {
  const [author] = untrusted;
  return author === undefined ? undefined : { type: TYPES[author] ?? 'guest', id, name };
}
