import { type Fault, InsufficientRole, invalidFields } from '@commonplace/kit/errors';
import { isUuid, newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { isWorkspaceRoleAtLeast } from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Node, Place } from '../domain/node.js';
import { LimitReached } from '../errors.js';
import type { AccessSubject } from '../policy.js';
import { publishTag } from './events.js';
import type { TagParts } from './parts.js';
import { nameKey, type Tag } from './records.js';
import { foldTag, MAX_TAGS_PER_RESOURCE } from './rules.js';

/** A reference to a tag in a request. */
export interface TagReference {
  readonly param: string;
  readonly text: string;
  /** `either`: an id if the text is a UUID, else a name. */
  readonly as: 'id' | 'name' | 'either';
}

interface WantedTags {
  /** In the order of the references, without repeats. */
  readonly tags: readonly Tag[];
  readonly created: boolean;
}

/** Returns the references to tags that one field contains. */
export function tagReferences(param: string, texts: readonly string[], as: TagReference['as']): TagReference[] {
  return texts.map((text, i) => ({ param: `${param}[${i}]`, text, as }));
}

/**
 * Returns the tags of a workspace that a request names. Creates a tag for each new name if the caller is an editor of
 * the workspace. The commit fails if one of them is deleted meanwhile.
 */
export async function findOrMakeTags(
  parts: TagParts,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  references: readonly TagReference[],
  subject: AccessSubject,
  context: CallContext,
): Promise<WantedTags> {
  const isId = ({ as, text }: TagReference) => as === 'id' || (as === 'either' && isUuid(text));
  const { workspaceId } = place;
  const byId = await parts.tags.byId(references.filter(isId).map(({ text }) => text));
  const byName = await parts.tags.named(
    workspaceId,
    references.flatMap((reference) => (isId(reference) ? [] : reference.text)),
  );
  const faults: Fault[] = [];
  const found = references.flatMap((reference) => {
    const tag = isId(reference) ? byId.get(reference.text) : byName.get(foldTag(reference.text));
    if (tag?.workspaceId === workspaceId) return tag;
    if (isId(reference)) faults.push(unknownTag(reference.param));
    return isId(reference) ? [] : reference.text;
  });
  if (faults.length > 0) throw invalidFields(faults);
  const names = found.filter((one) => typeof one === 'string');
  const made = await makeTags(parts, place, names, subject, context);
  const all = found.map((one) => (typeof one === 'string' ? (made.get(foldTag(one)) as Tag) : one));
  const tags = [...new Map(all.map((tag) => [tag.id, tag])).values()];
  for (const tag of tags) if (![...made.values()].includes(tag)) context.work.expect(parts.tags.collection, tag);
  return { tags, created: made.size > 0 };
}

function unknownTag(param: string): Fault {
  return { param, code: 'invalid_value', message: `${param} is not a tag of this workspace.` };
}

async function makeTags(
  parts: TagParts,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  names: readonly string[],
  { person }: AccessSubject,
  context: CallContext,
): Promise<Map<string, Tag>> {
  // If a name occurs in several spellings, the first one counts.
  const fresh = new Map([...names].reverse().map((name) => [foldTag(name), name]));
  if (fresh.size === 0) return new Map();
  const role = person.workspaces.get(place.workspaceId)?.role;
  if (!isWorkspaceRoleAtLeast(role, WorkspaceRole.EDITOR))
    throw InsufficientRole({ needed: 'editor', new_tags: names });
  await parts.quotas.tags.reserve(context.work, place.workspaceId, fresh.size);
  return new Map([...fresh].map(([fold, name]) => [fold, insertTag(parts, place, { name }, context)]));
}

/** Adds a new tag to this call's work and publishes its creation. */
export function insertTag(
  parts: Pick<TagParts, 'tags'>,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  fields: Pick<Tag, 'name' | 'color' | 'description'>,
  context: CallContext,
): Tag {
  const tag = insertSilently(parts, place, fields, context);
  publishTag(context, 'tag.created', tag);
  return tag;
}

/** Adds a new tag without publishing an event, for tags of templates. */
export function insertSilently(
  parts: Pick<TagParts, 'tags'>,
  { workspaceId, tenant }: Pick<Place, 'workspaceId' | 'tenant'>,
  { name, color, description }: Pick<Tag, 'name' | 'color' | 'description'>,
  context: CallContext,
): Tag {
  const now = new Date().toISOString();
  return context.work.insert(parts.tags.collection, {
    id: newId(),
    tenant,
    workspaceId,
    name,
    nameFold: foldTag(name),
    nameKey: nameKey(workspaceId, name),
    color,
    description,
    createdAt: now,
    updatedAt: now,
    updatedBy: context.actor,
  });
}

/** Returns the ids for the `tags` field of a creation or a PATCH, which replaces all tags of the resource. */
export async function wantedTags(
  parts: TagParts,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  texts: readonly string[],
  subject: AccessSubject,
  context: CallContext,
): Promise<Node['tags']> {
  if (texts.length === 0) return [];
  const { tags } = await findOrMakeTags(parts, place, tagReferences('tags', texts, 'either'), subject, context);
  if (tags.length > MAX_TAGS_PER_RESOURCE)
    throw LimitReached({ limit: MAX_TAGS_PER_RESOURCE, what: 'tags on a resource' });
  return tags.map(({ id }) => id);
}
