import type { Acting } from '../../acting.js';
import type { ImportParts } from '../parts.js';
import type { Hold } from './hold.js';
import type { Items } from './items.js';

const CHUNK = 500;

/** Describes which items already exist in the workspace, by their external ids. */
export interface ExistingItems {
  /** Items whose external id another resource has; the import's `conflict` option determines what happens to them. */
  readonly conflicts: ReadonlySet<number>;
  /** Folders that would be empty, because all of their content exists elsewhere and stays there. */
  readonly covered: ReadonlySet<number>;
  /** Whether anything new is created at the top level of the import. */
  readonly hasNew: boolean;
}

/** Looks for resources that have the items' external ids. When they replace the items, links lead to them. */
export async function findExisting(
  parts: ImportParts,
  hold: Hold,
  items: Items,
  acting: Acting,
): Promise<ExistingItems> {
  const { workspaceId, conflict } = hold.record;
  const byExternalId = new Map<string, number>();
  for (let seq = 0; seq < items.count; seq++) {
    const { externalId } = items.item(seq);
    if (externalId !== undefined) byExternalId.set(externalId, seq);
  }
  const conflicts = new Set<number>();
  const externalIds = [...byExternalId.keys()];
  for (let from = 0; from < externalIds.length; from += CHUNK) {
    const request = { workspaceId, parentId: undefined, externalIds: externalIds.slice(from, from + CHUNK) };
    const { resources } = await parts.treeImports.findByExternalId(request, await acting());
    for (const { externalId, resourceId } of resources) {
      const seq = byExternalId.get(externalId);
      if (seq === undefined || resourceId === items.resourceId(seq)) continue;
      conflicts.add(seq);
      if (conflict !== 'rename') items.setResource(seq, resourceId);
    }
  }
  const covered = conflict === 'rename' ? new Set<number>() : coveredFolders(items, conflicts);
  return { conflicts, covered, hasNew: conflict === 'rename' || hasNewTop(items, conflicts, covered) };
}

function coveredFolders(items: Items, conflicts: ReadonlySet<number>): Set<number> {
  const holds = new Set<number>();
  const holdsNew = new Set<number>();
  const covered = new Set<number>();
  // Children come after their parents, so this visits children first.
  for (let seq = items.count - 1; seq >= 0; seq--) {
    const { kind, parent, externalId } = items.item(seq);
    const isThere = conflicts.has(seq);
    if (!isThere && kind === 'folder' && externalId === undefined && holds.has(seq) && !holdsNew.has(seq)) {
      covered.add(seq);
    }
    const above = parent === undefined ? undefined : items.seqOf(parent);
    if (above === undefined) continue;
    holds.add(above);
    if (!isThere && !covered.has(seq)) holdsNew.add(above);
  }
  return covered;
}

function hasNewTop(items: Items, conflicts: ReadonlySet<number>, covered: ReadonlySet<number>): boolean {
  for (let seq = 0; seq < items.count; seq++) {
    if (items.item(seq).parent === undefined && !conflicts.has(seq) && !covered.has(seq)) return true;
  }
  return false;
}
