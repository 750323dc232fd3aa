import { NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import type { Parts } from '../parts.js';
import { requireWorkspaceRole, type WorkspaceStanding } from '../policy.js';
import { type PinEntry, type PinList, type PinVisibility, pinListId } from '../stores/pins.js';

/** A list of pins as one person finds it; `record` is absent while nothing was ever pinned there. */
export interface FoundList {
  readonly visibility: PinVisibility;
  readonly pins: readonly PinEntry[];
  readonly record: PinList | undefined;
}

/** A list as this call leaves it, the workspace's or the caller's own there. */
export async function findList(
  { pinLists }: Parts,
  context: CallContext,
  workspaceId: string,
  visibility: PinVisibility,
): Promise<FoundList> {
  const record = await context.work.get(pinLists.records, pinListId(workspaceId, visibility, context.caller.userId));
  return { visibility, pins: record?.pins ?? [], record };
}

/** Writes a list's pins. */
export function saveList(
  { pinLists }: Parts,
  context: CallContext,
  { workspace }: WorkspaceStanding,
  { visibility, record }: FoundList,
  pins: readonly PinEntry[],
): FoundList {
  const itemIds = pins.map(({ itemId }) => itemId);
  if (record !== undefined) {
    return { visibility, pins, record: context.work.replace(pinLists.records, record, { ...record, pins, itemIds }) };
  }
  const id = pinListId(workspace.id, visibility, context.caller.userId);
  const { tenant, id: workspaceId } = workspace;
  const made = context.work.insert(pinLists.records, { id, tenant, workspaceId, visibility, pins, itemIds });
  return { visibility, pins, record: made };
}

export function newPin(context: CallContext, itemId: string, createdAt: string): PinEntry {
  return { id: newId(), itemId, addedBy: context.actor, createdAt };
}

/** What is pinned for everybody, editors see to; their own pins everybody who is in the workspace. */
export function requirePinRole(standing: WorkspaceStanding, visibility: PinVisibility): void {
  requireWorkspaceRole(standing, visibility === 'workspace' ? 'editor' : 'guest');
}

/** Which pin is meant: itself, or its item; `visibility` where the item may stand in both lists. */
export interface Wanted {
  readonly pinId?: string | undefined;
  readonly itemId?: string | undefined;
  readonly visibility?: PinVisibility | undefined;
}

/** The pin that is meant, in its list. An item that stands in both lists is meant in the caller's own. */
export async function findPin(
  parts: Parts,
  context: CallContext,
  workspaceId: string,
  { pinId, itemId, visibility }: Wanted,
): Promise<{ list: FoundList; pin: PinEntry }> {
  for (const one of ['me', 'workspace'] as const) {
    if (visibility !== undefined && visibility !== one) continue;
    const list = await findList(parts, context, workspaceId, one);
    const pin = list.pins.find((each) => (pinId === undefined ? each.itemId === itemId : each.id === pinId));
    if (pin !== undefined) return { list, pin };
  }
  throw NotFound();
}

/** What the caller may read of some items, by id; an item of another workspace is none of this one's. */
export async function readableItems(
  { index }: Parts,
  context: CallContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, AccessibleResource>> {
  if (ids.length === 0) return new Map();
  const { resources } = await index.checkAccess({ ids: [...new Set(ids)] }, context.onward);
  return new Map(resources.map((resource) => [resource.id, resource]));
}

/** The pins of a list whose items the caller may read in its workspace. */
export function seenBy(items: ReadonlyMap<string, AccessibleResource>, workspaceId: string) {
  return ({ itemId }: PinEntry): boolean => items.get(itemId)?.workspaceId === workspaceId;
}
