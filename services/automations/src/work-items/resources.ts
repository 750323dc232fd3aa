import { invalidField, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { WorkItemParts } from './parts.js';

/** Number of resources in one call, and of concurrent calls. */
const CHUNK = 200;
const CONCURRENCY = 4;

type ResourceParts = Pick<WorkItemParts, 'peers'>;

/** Returns the resources among `ids` that the caller can read now, with their workspaces. */
export async function readableAmong(
  { peers }: ResourceParts,
  ids: Iterable<string>,
  { onward }: Pick<CallContext, 'onward'>,
): Promise<ReadonlyMap<string, string>> {
  const unique = [...new Set(ids)];
  const found = new Map<string, string>();
  const chunks: string[][] = [];
  for (let at = 0; at < unique.length; at += CHUNK) chunks.push(unique.slice(at, at + CHUNK));
  for (let at = 0; at < chunks.length; at += CONCURRENCY) {
    const some = chunks.slice(at, at + CONCURRENCY).map((part) => peers.index.checkAccess({ ids: part }, onward));
    for (const { resources } of await Promise.all(some)) {
      for (const { id, workspaceId } of resources) found.set(id, workspaceId);
    }
  }
  return found;
}

/** Maximum number of resources of a work item, including those that the caller cannot see. */
const MAX_RESOURCES = 200;

/**
 * Returns the resources of a work item after a request names some. Earlier resources that the caller cannot read are
 * kept, since the request could not name them. Throws `NotFound` for a resource that is unreadable or in another
 * workspace.
 */
export async function chooseResources(
  parts: ResourceParts,
  named: readonly string[],
  before: readonly string[],
  workspaceId: string,
  context: CallContext,
): Promise<string[]> {
  const readable = await readableAmong(parts, [...named, ...before], context);
  const at = named.findIndex((id) => readable.get(id) !== workspaceId);
  if (at >= 0) throw NotFound({}, { param: `resource_ids[${at}]` });
  const all = [...new Set([...named, ...before.filter((id) => !readable.has(id))])];
  if (all.length > MAX_RESOURCES) {
    throw invalidField(
      'resource_ids',
      'too_many_items',
      'resource_ids must be fewer, with those that others have added.',
    );
  }
  return all;
}
