import type { Actor } from '@commonplace/kit/auth';
import { actorMessage } from '@commonplace/platform/actors';
import { namesByValue, valuesByName } from '@commonplace/platform/enums';
import { type Actor as ActorMessage, ActorType } from '@commonplace/proto/api/v1/actor.js';
import {
  AccessMode,
  AccessSource,
  BlockedBy,
  type PathItem,
  type ResolvedAccess,
  type Resource,
  ResourceRole,
  ResourceState,
  ResourceType,
} from '@commonplace/proto/resources/v1/resource.js';
import { type NodeType, parentId } from './domain/node.js';
import { may, type Role } from './domain/role.js';
import { blockedBy, type Seen } from './policy.js';

export const TYPES: Record<NodeType, ResourceType> = valuesByName(ResourceType);

const TYPE_NAMES: Partial<Record<ResourceType, NodeType>> = namesByValue(ResourceType);

/** Returns the stored name of a resource type; undefined if none was given. */
export const nodeType = (type: ResourceType): NodeType | undefined => TYPE_NAMES[type];

const ROLE_MESSAGES: Record<Role, ResourceRole> = valuesByName(ResourceRole);
const ROLE_NAMES: Partial<Record<ResourceRole, Role>> = namesByValue(ResourceRole);

export const roleMessage = (role: Role): ResourceRole => ROLE_MESSAGES[role];

/** Returns the stored name of a role; undefined if none was given. */
export const roleNamed = (role: ResourceRole): Role | undefined => ROLE_NAMES[role];

const ACTOR_TYPE_NAMES: Partial<Record<ActorType, Actor['type']>> = namesByValue(ActorType);

/** Returns an actor as records store it. */
export function actorFrom({ type, id, name }: ActorMessage): Actor {
  return { type: ACTOR_TYPE_NAMES[type] ?? 'system', id, name };
}

const SOURCES: Record<Seen['access']['source'], AccessSource> = valuesByName(AccessSource);

const BLOCKS = valuesByName(BlockedBy);

/** Returns the message of the caller's access to a node, with its source and what blocks writing. */
export function accessMessage(seen: Seen): ResolvedAccess {
  const { role, source, sourceResourceId, expiresAt } = seen.access;
  const blocked = blockedBy(seen);
  return {
    role: ROLE_MESSAGES[role],
    canRead: true,
    canComment: may(role, 'comment') && (blocked === undefined || blocked === 'locked'),
    canWrite: may(role, 'write') && blocked === undefined,
    canManage: may(role, 'manage'),
    canOwn: may(role, 'own'),
    accessMode: seen.node.restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT,
    source: SOURCES[source],
    sourceResourceId,
    expiresAt,
    blockedBy: blocked === undefined ? undefined : BLOCKS[blocked],
  };
}

/** The fields of a resource's message that are not in its record. */
export interface Surroundings {
  readonly childCount: number;
  readonly path?: PathItem[] | undefined;
  readonly content?: string | undefined;
  readonly parent?: Resource['parent'];
  readonly accessChange?: Resource['accessChange'];
  /** Ids of its current tags; if absent, the ids in the record are used. */
  readonly tags?: readonly string[] | undefined;
  readonly tagRecords?: Resource['tagRecords'];
  readonly publication?: Resource['publication'];
}

const NO_METADATA = Buffer.alloc(0);

function sourceOf({ importId, sourceUrl }: Seen['node']): Resource['source'] {
  if (importId !== undefined) return { type: 'import', importId, url: sourceUrl };
  return sourceUrl === undefined ? undefined : { type: 'url', importId: undefined, url: sourceUrl };
}

export function resourceMessage(seen: Seen, around: Surroundings): Resource {
  const { node } = seen;
  return {
    id: node.id,
    workspaceId: node.workspaceId,
    orgId: node.orgId ?? undefined,
    parentId: parentId(node),
    type: TYPES[node.type],
    name: node.name,
    icon: node.icon,
    description: node.description,
    path: around.path === undefined ? undefined : { items: around.path },
    position: node.position,
    state: node.state === 'active' ? ResourceState.ACTIVE : ResourceState.TRASHED,
    accessMode: node.restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT,
    access: accessMessage(seen),
    isLocked: node.locked,
    tags: [...(around.tags ?? node.tags)],
    isAttachment: node.attachment === true,
    hasChildren: around.childCount > 0,
    childCount: around.childCount,
    externalId: node.externalId,
    metadata: node.metadata === undefined ? NO_METADATA : Buffer.from(node.metadata),
    contentVersion: node.contentVersion,
    sizeBytes: node.sizeBytes,
    publication: around.publication,
    form: node.form,
    file: node.file,
    source: sourceOf(node),
    createdBy: actorMessage(node.createdBy),
    updatedBy: actorMessage(node.updatedBy),
    createdAt: node.createdAt,
    updatedAt: node.updatedAt,
    trashedAt: node.trashedAt,
    version: node.version,
    content: around.content,
    parent: around.parent,
    accessChange: around.accessChange,
    tagRecords: around.tagRecords,
  };
}
