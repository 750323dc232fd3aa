import { AppError, invalidField, NotFound } from '@commonplace/kit/errors';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import type { RemovedTag } from '@commonplace/proto/resources/v1/tag_service.js';
import type { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Node } from '../domain/node.js';
import { WorkspaceArchived } from '../errors.js';
import { publishChange } from '../events.js';
import { publishTag } from './events.js';
import type { TagParts } from './parts.js';
import { nameKey, type Tag } from './records.js';
import { foldTag, parseColor } from './rules.js';
import { replaceTag, retireTag } from './tag-nodes.js';
import { countUsage } from './usage.js';

/** Whether the workspace of a tag is archived. */
type TagPlace = Pick<WorkspaceMembership, 'archived'>;

/** Throws WorkspaceArchived for an archived workspace. */
export function requireActive({ archived }: TagPlace): void {
  if (archived) throw WorkspaceArchived();
}

/** Deletes a tag of a workspace and removes it from all nodes. */
export async function deleteTag(parts: TagParts, tag: Tag, place: TagPlace, context: CallContext): Promise<RemovedTag> {
  requireActive(place);
  requireVersion(context, tag.version, tag);
  const detachedCount = (await countUsage(parts, [tag])).get(tag.id) ?? 0;
  context.work.remove(parts.tags.collection, tag);
  await retireTag(parts, tag, undefined, context);
  publishTag(context, 'tag.deleted', tag);
  return { id: tag.id, deleted: true, detachedCount };
}

export async function detachTag(
  parts: TagParts,
  tag: Tag,
  nodes: readonly Node[],
  context: CallContext,
): Promise<RemovedTag> {
  const carried = await parts.tags.carriedFor([tag.id]);
  let changed = [...nodes];
  let detached = new Set<string>();
  for (const id of carried) {
    const written = await replaceTag(parts, context.work, changed, id, undefined);
    const off = new Map(written.map((node) => [node.id, node]));
    changed = changed.map((node) => off.get(node.id) ?? node);
    detached = new Set([...detached, ...off.keys()]);
  }
  const [first, ...others] = changed.filter(({ id }) => detached.has(id));
  if (first !== undefined) publishChange(context, { verb: 'resource.updated', fields: ['tags'] }, first, others);
  return { id: tag.id, deleted: false, detachedCount: detached.size };
}

interface TagChange {
  readonly name?: string | undefined;
  readonly color?: string | undefined;
  readonly description?: string | undefined;
  /** The fields that are given. */
  readonly fields: ReadonlySet<string>;
}

/** Changes the name, colour or description of a tag. */
export async function updateTag(
  parts: TagParts,
  tag: Tag,
  change: TagChange,
  place: TagPlace,
  context: CallContext,
): Promise<Tag> {
  const { fields } = change;
  const { workspaceId } = tag;
  const after: { -readonly [F in keyof Tag]: Tag[F] } = { ...tag };
  if (fields.has('name') && change.name !== undefined) {
    after.name = change.name;
    after.nameFold = foldTag(change.name);
    after.nameKey = nameKey(workspaceId, change.name);
  }
  if (fields.has('color')) after.color = parseColor(change.color);
  if (fields.has('description')) after.description = change.description;
  requireActive(place);
  if (after.nameKey !== tag.nameKey) {
    const taken = (await parts.tags.named(workspaceId, [after.name])).get(after.nameFold);
    if (taken !== undefined) throw nameTaken(taken);
  }
  after.updatedAt = new Date().toISOString();
  after.updatedBy = context.actor;
  const written = replaceChanged(context.work, parts.tags.collection, tag, after);
  if (written !== tag) publishTag(context, 'tag.updated', written, { fields: [...fields] });
  return written;
}

function nameTaken({ id, name }: Tag): AppError {
  const message = `The tag ${name} exists already: merge the two instead.`;
  return new AppError('ABORTED', 'already_exists', message, { param: 'name', details: { tag_id: id, name } });
}

/** Replaces one tag by another on all nodes, and deletes it. */
export async function mergeTags(
  parts: TagParts,
  { from, into }: { readonly from: Tag; readonly into: Tag },
  place: TagPlace,
  context: CallContext,
): Promise<Tag> {
  if (from.id === into.id) {
    throw invalidField('into_tag_id', 'invalid_value', 'into_tag_id must be another tag than tag_id.');
  }
  requireActive(place);
  const { nameKey: _, ...rest } = from;
  const after = { ...rest, mergedInto: into.id, updatedAt: new Date().toISOString(), updatedBy: context.actor };
  const merged = context.work.replace(parts.tags.collection, from, after);
  context.work.expect(parts.tags.collection, into);
  await retireTag(parts, from, into, context);
  publishTag(context, 'tag.merged', merged, { into: into.id });
  return into;
}

/** Returns a tag of a workspace. Throws NotFound for one that was merged into another. */
export async function tagIn(parts: TagParts, workspaceId: string, id: string): Promise<Tag> {
  const tag = await parts.tags.collection.get(id);
  if (tag === undefined || tag.workspaceId !== workspaceId || tag.mergedInto !== undefined) throw NotFound();
  return tag;
}
