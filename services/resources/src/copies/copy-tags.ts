import type { CallContext } from '@commonplace/kit/rpc';
import { isWorkspaceRoleAtLeast } from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Node, Place } from '../domain/node.js';
import { tryToReserve } from '../nodes/quotas.js';
import type { AccessSubject } from '../policy.js';
import type { Tag } from '../tags/records.js';
import { insertTag } from '../tags/wanted-tags.js';
import type { CopyTarget } from './copy-target.js';
import type { CopyParts } from './parts.js';

const NO_TAGS: ReadonlyMap<string, Tag> = new Map();

/**
 * Creates the tags of copied nodes that the target workspace lacks, and returns them by folded name. If the caller may
 * not create them or the limit is reached, the copy goes without them and the reply has a warning.
 */
export async function makeCopiedTags(
  parts: CopyParts,
  sources: readonly Pick<Node, 'id' | 'workspaceId' | 'tags'>[],
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  { person }: AccessSubject,
  context: CallContext,
): Promise<ReadonlyMap<string, Tag>> {
  const { workspaceId } = place;
  const tagged = sources.filter((one) => one.tags.length > 0 && one.workspaceId !== workspaceId);
  const missing = await missingTags(parts, tagged, workspaceId);
  if (missing.length === 0) return NO_TAGS;
  const mayMake = isWorkspaceRoleAtLeast(person.workspaces.get(workspaceId)?.role, WorkspaceRole.EDITOR);
  if (!mayMake || !(await tryToReserve(parts.quotas.tags, context.work, workspaceId, missing.length))) {
    const message = `${missing.length} tags are not in that workspace and were left out.`;
    context.reply.warnings = [{ code: 'tags_left_out', message }];
    return NO_TAGS;
  }
  return new Map(missing.map((tag) => [tag.nameFold, insertTag(parts, place, tag, context)]));
}

/** Returns the tags of some nodes that have no tag of the same name in another workspace. */
export async function missingTags(
  parts: Pick<CopyParts, 'tags'>,
  sources: readonly Pick<Node, 'id' | 'workspaceId' | 'tags'>[],
  workspaceId: string,
): Promise<Tag[]> {
  if (sources.every(({ tags }) => tags.length === 0)) return [];
  const brought = new Map([...(await parts.tags.ofAll(sources)).values()].flat().map((tag) => [tag.nameFold, tag]));
  const known = await parts.tags.named(
    workspaceId,
    [...brought.values()].map(({ name }) => name),
  );
  return [...brought.values()].filter(({ nameFold }) => !known.has(nameFold));
}

/**
 * Returns the tag ids of copies by the copy's id: those of the sources, or in another workspace the tags of the same
 * names.
 */
export async function tagsOfCopies(
  parts: CopyParts,
  targets: readonly CopyTarget[],
  made: ReadonlyMap<string, Tag>,
  { work }: CallContext,
): Promise<Map<string, Node['tags']>> {
  const tagged = targets.filter(({ from }) => from.tags.length > 0);
  const [first] = tagged;
  if (first === undefined) return new Map();
  const { workspaceId } = first.place;
  const present = await parts.tags.ofAll(tagged.map(({ from }) => from));
  const names = [...present.values()].flat().map(({ name }) => name);
  const here = first.from.workspaceId === workspaceId ? undefined : await parts.tags.named(workspaceId, names);
  const used = new Map<string, Tag>();
  const ids = new Map<string, Node['tags']>();
  for (const { id, from } of tagged) {
    const tags = (present.get(from.id) ?? []).flatMap((tag) => {
      if (here === undefined) return tag;
      return here.get(tag.nameFold) ?? made.get(tag.nameFold) ?? [];
    });
    for (const tag of tags) if (made.get(tag.nameFold) !== tag) used.set(tag.id, tag);
    ids.set(
      id,
      tags.map((tag) => tag.id),
    );
  }
  // Makes the commit fail if one of the tags is deleted before.
  for (const tag of used.values()) work.expect(parts.tags.collection, tag);
  return ids;
}
