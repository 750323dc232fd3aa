import type { ImportParts } from '../parts.js';
import type { Acting } from './acting.js';
import type { Hold } from './hold.js';
import type { Items } from './items.js';

const CHUNK = 500;

/** What an import finds in the workspace of its items' external ids. */
export interface Existing {
  /** Items whose resource is there and is not theirs; what is done with them says the import's `conflict`. */
  readonly conflicts: ReadonlySet<number>;
}

/** Looks for resources that have the items' external ids. Where they are to stand for the items, links lead to them. */
export async function findExisting(parts: ImportParts, hold: Hold, items: Items, acting: Acting): Promise<Existing> {
  const { workspaceId, conflict } = hold.record;
  const byExternalId = new Map<string, number>();
  for (let seq = 0; seq < items.count; seq++) {
    const { externalId } = items.item(seq);
    if (externalId !== undefined) byExternalId.set(externalId, seq);
  }
  const conflicts = new Set<number>();
  const externalIds = [...byExternalId.keys()];
  for (let from = 0; from < externalIds.length; from += CHUNK) {
    const asked = { workspaceId, parentId: undefined, externalIds: externalIds.slice(from, from + CHUNK) };
    const { resources } = await parts.treeImports.findByExternalId(asked, await acting());
    for (const { externalId, resourceId } of resources) {
      const seq = byExternalId.get(externalId);
      if (seq === undefined || resourceId === items.resourceId(seq)) continue;
      conflicts.add(seq);
      if (conflict !== 'rename') items.setResource(seq, resourceId);
    }
  }
  return { conflicts };
}
