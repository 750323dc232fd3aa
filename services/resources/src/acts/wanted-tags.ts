import { type Fault, InsufficientRole, invalidFields } from '@commonplace/kit/errors';
import { isUuid, newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { foldTag, TAGS_PER_RESOURCE } from '../domain/tags.js';
import { LimitReached } from '../errors.js';
import { publishTag } from '../events.js';
import type { Parts } from '../parts.js';
import { isWorkspaceRole, type Standing } from '../policy.js';
import type { Node, Place } from '../stores/nodes.js';
import { nameKey, type Tag } from '../stores/tags.js';

/** How a request names a tag. */
export interface TagWish {
  readonly param: string;
  readonly text: string;
  /** `either`: an id where it looks like one, else a name. */
  readonly as: 'id' | 'name' | 'either';
}

export interface WantedTags {
  /** In the order of the wishes, without repeats. */
  readonly tags: readonly Tag[];
  readonly created: boolean;
}

/** Wishes of one field. */
export function wishesOf(param: string, texts: readonly string[], as: TagWish['as']): TagWish[] {
  return texts.map((text, i) => ({ param: `${param}[${i}]`, text, as }));
}

/**
 * The tags of a workspace that a request names. A new name makes a tag, for editors of the workspace.
 * None of them can be deleted before this call's work is committed.
 */
export async function findOrMakeTags(
  parts: Parts,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  wishes: readonly TagWish[],
  standing: Standing,
  context: CallContext,
): Promise<WantedTags> {
  const isId = ({ as, text }: TagWish) => as === 'id' || (as === 'either' && isUuid(text));
  const { workspaceId } = place;
  const byId = await parts.tags.byId(wishes.filter(isId).map(({ text }) => text));
  const byName = await parts.tags.named(
    workspaceId,
    wishes.flatMap((wish) => (isId(wish) ? [] : wish.text)),
  );
  const faults: Fault[] = [];
  const found = wishes.flatMap((wish) => {
    const tag = isId(wish) ? byId.get(wish.text) : byName.get(foldTag(wish.text));
    if (tag?.workspaceId === workspaceId) return tag;
    if (isId(wish)) faults.push(unknownTag(wish.param));
    return isId(wish) ? [] : wish.text;
  });
  if (faults.length > 0) throw invalidFields(faults);
  const names = found.filter((one) => typeof one === 'string');
  const made = await makeTags(parts, place, names, standing, context);
  const all = found.map((one) => (typeof one === 'string' ? (made.get(foldTag(one)) as Tag) : one));
  const tags = [...new Map(all.map((tag) => [tag.id, tag])).values()];
  for (const tag of tags) if (![...made.values()].includes(tag)) context.work.expect(parts.tags.collection, tag);
  return { tags, created: made.size > 0 };
}

function unknownTag(param: string): Fault {
  return { param, code: 'invalid_value', message: `${param} is no tag of this workspace.` };
}

async function makeTags(
  parts: Parts,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  names: readonly string[],
  { person }: Standing,
  context: CallContext,
): Promise<Map<string, Tag>> {
  // Of two spellings of one name the first counts.
  const fresh = new Map([...names].reverse().map((name) => [foldTag(name), name]));
  if (fresh.size === 0) return new Map();
  const role = person.workspaces.get(place.workspaceId)?.role;
  if (!isWorkspaceRole(role, WorkspaceRole.EDITOR)) throw InsufficientRole({ needed: 'editor', new_tags: names });
  await parts.tagRoom.take(place.workspaceId, fresh.size);
  return new Map([...fresh].map(([fold, name]) => [fold, insertTag(parts, place, { name }, context)]));
}

/** Adds a new tag to this call's work, and tells of it. */
export function insertTag(
  parts: Pick<Parts, 'tags'>,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  fields: Pick<Tag, 'name' | 'color' | 'description'>,
  context: CallContext,
): Tag {
  const tag = insertSilently(parts, place, fields, context);
  publishTag(context, 'tag.created', tag);
  return tag;
}

/** The same without telling: of what is in a template nobody is told. */
export function insertSilently(
  parts: Pick<Parts, 'tags'>,
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

/** The ids for the `tags` of a creation or a PATCH, which names all that the resource is to have. */
export async function wantedTags(
  parts: Parts,
  place: Pick<Place, 'workspaceId' | 'tenant'>,
  texts: readonly string[],
  standing: Standing,
  context: CallContext,
): Promise<Node['tags']> {
  if (texts.length === 0) return [];
  const { tags } = await findOrMakeTags(parts, place, wishesOf('tags', texts, 'either'), standing, context);
  if (tags.length > TAGS_PER_RESOURCE) throw LimitReached({ limit: TAGS_PER_RESOURCE, what: 'tags on a resource' });
  return tags.map(({ id }) => id);
}
