import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from './parts.js';

/** The resources that a reader can read, with the versions of their contents. */
export type Readable = ReadonlyMap<string, { readonly contentVersion: number }>;

const CHUNK = 200;

/** Returns the resources among `ids` that the caller can read now, with the versions of their contents. */
export async function readableAmong(
  { index }: Pick<Parts, 'index'>,
  ids: readonly string[],
  { onward }: Pick<CallContext, 'onward'>,
): Promise<Readable> {
  const found = new Map<string, { readonly contentVersion: number }>();
  for (let at = 0; at < ids.length; at += CHUNK) {
    const { resources } = await index.checkAccess({ ids: ids.slice(at, at + CHUNK) }, onward);
    for (const { id, contentVersion } of resources) found.set(id, { contentVersion });
  }
  return found;
}
