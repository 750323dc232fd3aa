import type { UnitOfWork } from '@commonplace/kit/store';
import { LimitReached } from '../errors.js';
import type { Destination } from './destination.js';
import type { TreeParts } from './parts.js';

/** The resources that a call adds to a destination. */
interface Arrival {
  /** Id of the first one, if known; it selects the slot of the quota. */
  readonly id?: string;
  /** Number of resources added to the workspace, descendants included; 1 if absent. */
  readonly resources?: number;
  /** Number of those that are direct children of the destination; 1 if absent. */
  readonly sideBySide?: number;
}

/**
 * Reserves quota for resources in the unit of work that adds them: among the children of their parent, and in the
 * workspace. Throws `limit_reached`.
 */
export async function reservePlaces(
  { quotas }: Pick<TreeParts, 'quotas'>,
  { parent, key }: Pick<Destination, 'key'> & { readonly parent: Pick<Destination['parent'], 'workspaceId'> },
  work: UnitOfWork,
  { id, resources = 1, sideBySide = 1 }: Arrival = {},
): Promise<void> {
  const isRoot = key === parent.workspaceId;
  await (isRoot ? quotas.roots : quotas.children).reserve(work, key, sideBySide, id);
  await quotas.resources.reserve(work, parent.workspaceId, resources, id);
}

/** Throws `limit_reached` if one of several new parents would have this many children, which is more than allowed. */
export function requireWidth({ settings: { children } }: Pick<TreeParts, 'settings'>, width: number): void {
  if (width > children) throw LimitReached({ limit: children, what: 'resources side by side' });
}
