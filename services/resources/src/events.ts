import type { Actor } from '@commonplace/kit/auth';
import { newId, newRequestId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Telling } from './acts/grants.js';
import { publicName } from './domain/principals.js';
import type { AccessRequest } from './stores/access-requests.js';
import type { Comment } from './stores/comments.js';
import type { Grant } from './stores/grants.js';
import type { Node } from './stores/nodes.js';
import type { PublicationRecord } from './stores/publications.js';
import type { SnapshotRecord } from './stores/snapshots.js';
import type { Tag } from './stores/tags.js';
import type { Template } from './stores/templates.js';

/** What makes events and writes of work that no call waits for; they name the actor who began it. */
export function eventsBy(
  actor: Actor,
  owner: string | undefined,
  work: UnitOfWork,
): Pick<CallContext, 'work' | 'event' | 'actor'> {
  return {
    work,
    actor,
    event: (type, subject, data, tenant = owner) => ({
      specversion: '1.0',
      id: `evt_${newId()}`,
      source: '/resources',
      type: `commonplace.resources.${type}`,
      subject,
      time: new Date().toISOString(),
      datacontenttype: 'application/json',
      data,
      ...(tenant === undefined ? {} : { tenant }),
      requestid: newRequestId(),
      actor,
    }),
  };
}

/** Ids that one event names at the most, so that it stays thin. */
export const IDS_PER_EVENT = 200;

export interface Change {
  readonly verb:
    | 'resource.created'
    | 'resource.updated'
    | 'resource.moved'
    | 'resource.trashed'
    | 'resource.restored'
    | 'resource.purged'
    | 'content.updated';
  readonly fields?: readonly string[];
  /** Of a content: how it came to be changed. */
  readonly reason?: string;
}

/** Tells of a change to a node, and to nodes below it that changed with it. */
export function publishChange(
  context: Pick<CallContext, 'work' | 'event'>,
  { verb, fields = [], reason }: Change,
  head: Pick<Node, 'id' | 'workspaceId' | 'tenant' | 'version' | 'contentVersion'>,
  below: readonly { readonly id: string }[] = [],
): void {
  const ids = [head.id, ...below.map(({ id }) => id)];
  for (let from = 0; from < ids.length; from += IDS_PER_EVENT) {
    const data = {
      resourceIds: ids.slice(from, from + IDS_PER_EVENT),
      workspaceId: head.workspaceId,
      changedFields: [...fields],
      version: head.version,
      contentVersion: head.contentVersion,
      ...(reason === undefined ? {} : { reason }),
    };
    context.work.publish(context.event(verb, head.id, data, head.tenant));
  }
}

/** Tells of a new snapshot of a node. */
export function publishSnapshot(
  context: Pick<CallContext, 'work' | 'event'>,
  { id, resourceId, reason, contentVersion }: SnapshotRecord,
  { workspaceId, tenant }: Pick<Node, 'workspaceId' | 'tenant'>,
): void {
  const data = { snapshotId: id, resourceId, workspaceId, reason, contentVersion };
  context.work.publish(context.event('snapshot.created', resourceId, data, tenant));
}

/** Tells of a change to a tag itself; the nodes that carry it are told of by `publishChange`. */
export function publishTag(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'tag.created' | 'tag.updated' | 'tag.merged' | 'tag.deleted',
  { id, workspaceId, tenant, version }: Tag,
  { fields = [], into }: { readonly fields?: readonly string[]; readonly into?: string } = {},
): void {
  const data = { tagId: id, workspaceId, changedFields: [...fields], version, intoTagId: into };
  context.work.publish(context.event(verb, id, data, tenant));
}

export interface CommentNews {
  readonly fields?: readonly string[];
  /** People newly mentioned; who acts is left out here. */
  readonly mentions?: readonly string[];
  readonly participants?: readonly string[];
}

/** Tells of a comment, with whom it concerns. */
export function publishComment(
  context: Pick<CallContext, 'work' | 'event' | 'caller'>,
  verb: 'comment.created' | 'comment.updated' | 'comment.resolved' | 'comment.deleted',
  node: Pick<Node, 'id' | 'workspaceId' | 'tenant'>,
  { id, threadId, parentId, authorId, version }: Comment,
  { fields = [], mentions = [], participants = [] }: CommentNews,
): void {
  const actorId = context.caller.userId;
  const data = {
    commentId: id,
    threadId,
    parentCommentId: parentId,
    resourceId: node.id,
    workspaceId: node.workspaceId,
    authorId,
    actorId,
    changedFields: [...fields],
    version,
    mentions: mentions.filter((userId) => userId !== actorId),
    participants: [...participants],
  };
  context.work.publish(context.event(verb, node.id, data, node.tenant));
}

/** Tells of a grant that was made, changed or taken back. */
export function publishPermission(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'granted' | 'changed' | 'revoked',
  node: Pick<Node, 'id' | 'workspaceId' | 'tenant'>,
  grant: Grant,
  { notify, message }: Telling,
): void {
  const data = {
    resourceId: node.id,
    workspaceId: node.workspaceId,
    principal: publicName(grant.principal),
    role: grant.role,
    notify,
    ...(message === undefined ? {} : { message }),
    ...(grant.expiresAt === undefined ? {} : { expiresAt: grant.expiresAt }),
  };
  context.work.publish(context.event(`permission.${verb}`, node.id, data, node.tenant));
}

/** Tells of a template that was made or deleted, or whose content is there now. */
export function publishTemplate(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'created' | 'updated' | 'deleted',
  { id, orgId, scope, status, version, tenant }: Template,
): void {
  const data = { templateId: id, ...(orgId !== null && { orgId }), scope, status, version };
  context.work.publish(context.event(`template.${verb}`, id, data, tenant));
}

/** Tells of an access request that was made or decided, and whom to tell. */
export function publishAccessRequest(
  context: Pick<CallContext, 'work' | 'event'>,
  verb: 'created' | 'decided',
  request: AccessRequest,
  notifyUserIds: readonly string[],
): void {
  const { id, resourceId, workspaceId, requesterId, role, grantedRole, status, tenant } = request;
  const message = verb === 'created' ? request.message : request.decisionMessage;
  const data = {
    requestId: id,
    resourceId,
    workspaceId,
    requesterId,
    role: grantedRole ?? role,
    status,
    ...(message === undefined ? {} : { message }),
    notifyUserIds: [...notifyUserIds],
  };
  context.work.publish(context.event(`access_request.${verb}`, resourceId, data, tenant));
}

/** Tells that readers see something else now, or may see it no more. */
export function publishPublication(
  context: Pick<CallContext, 'work' | 'event'>,
  { id, itemId, kind, workspaceId, active, version, tenant }: PublicationRecord,
  fields: readonly string[],
): void {
  const data = {
    publicationId: id,
    ...(kind === 'resource' && { resourceId: itemId }),
    workspaceId,
    status: active ? 'active' : 'unpublished',
    changedFields: fields.filter((name) => name !== 'password'),
    version,
  };
  context.work.publish(context.event('publication.updated', itemId, data, tenant));
}
