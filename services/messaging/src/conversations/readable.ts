import type { CallContext } from '@commonplace/kit/rpc';
import type { MessageRecord } from './message-records.js';
import type { ConversationParts } from './parts.js';
import type { Readable } from './wire.js';

const CHUNK = 200;

/** Returns the resources among `ids` that the caller can read now. */
export async function readableAmong(
  { index }: Pick<ConversationParts, 'index'>,
  ids: readonly string[],
  { onward }: Pick<CallContext, 'onward'>,
): Promise<Readable> {
  const unique = [...new Set(ids)];
  const found: Map<string, Readable extends ReadonlyMap<string, infer R> ? R : never> = new Map();
  for (let at = 0; at < unique.length; at += CHUNK) {
    const { resources } = await index.checkAccess({ ids: unique.slice(at, at + CHUNK) }, onward);
    for (const resource of resources) found.set(resource.id, resource);
  }
  return found;
}

/** Returns the attachments of messages that the caller can read now. */
export function readableIn(
  parts: Pick<ConversationParts, 'index'>,
  messages: readonly MessageRecord[],
  context: Pick<CallContext, 'onward'>,
): Promise<Readable> {
  return readableAmong(
    parts,
    messages.flatMap(({ resourceIds }) => resourceIds),
    context,
  );
}
