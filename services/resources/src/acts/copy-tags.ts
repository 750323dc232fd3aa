import { AppError } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { LimitReached } from '../errors.js';
import type { Parts } from '../parts.js';
import { isWorkspaceRole, type Standing } from '../policy.js';
import type { Node, Place } from '../stores/nodes.js';
import type { Tag } from '../stores/tags.js';
import type { Copying } from './copy-nodes.js';
import { insertTag } from './wanted-tags.js';

const NO_TAGS: ReadonlyMap<string, Tag> = new Map();

/** Makes the tags that a copy brings to another workspace and that are not there, by folded name. */
export async function makeCopiedTags(
  parts: Parts,
  sources: readonly Pick<Node, 'id' | 'workspaceId' | 'tags'>[],
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  { person }: Standing,
  context: CallContext,
): Promise<ReadonlyMap<string, Tag>> {
  const { workspaceId } = place;
  const tagged = sources.filter((one) => one.tags.length > 0 && one.workspaceId !== workspaceId);
  const missing = await missingTags(parts, tagged, workspaceId);
  if (missing.length === 0) return NO_TAGS;
  const mayMake = isWorkspaceRole(person.workspaces.get(workspaceId)?.role, WorkspaceRole.EDITOR);
  if (!mayMake || !(await hasRoom(parts, workspaceId, missing.length))) {
    const message = `${missing.length} tags are not in that workspace and were left out.`;
    context.reply.warnings = [{ code: 'tags_left_out', message }];
    return NO_TAGS;
  }
  return new Map(missing.map((tag) => [tag.nameFold, insertTag(parts, place, tag, context)]));
}

/** The tags of some nodes that have no namesake in another workspace. */
export async function missingTags(
  parts: Pick<Parts, 'tags'>,
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

async function hasRoom(parts: Parts, workspaceId: string, count: number): Promise<boolean> {
  try {
    await parts.tagRoom.take(workspaceId, count);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.reason === LimitReached().reason) return false;
    throw error;
  }
}

/** The tags of copies by the copy's id: those of the sources, in another workspace those of the same names. */
export async function tagsOfCopies(
  parts: Parts,
  copyings: readonly Copying[],
  made: ReadonlyMap<string, Tag>,
  { work }: CallContext,
): Promise<Map<string, Node['tags']>> {
  const tagged = copyings.filter(({ from }) => from.tags.length > 0);
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
  // None of them is deleted before the copies are there.
  for (const tag of used.values()) work.expect(parts.tags.collection, tag);
  return ids;
}
