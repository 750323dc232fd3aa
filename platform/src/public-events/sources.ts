import type { DomainEvent } from '@commonplace/kit/events';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Audience } from './audience.js';
import { type EventDraft, type EventSource, pick, placeOf, text, texts } from './drafts.js';
import type { EventType } from './types.js';

const CHANGE = ['changedFields', 'version'];

/** Returns the audience of an event about one resource. */
function readersOf({ data }: DomainEvent, least: 'viewer' | 'manager' = 'viewer'): Audience {
  return { resources: { ids: [text(data.resourceId)], least } };
}

/** Returns a source of events about one resource, with the named fields of the bus's event. */
function aboutResource(
  type: EventType,
  fields: readonly string[],
  least: 'viewer' | 'manager' = 'viewer',
): EventSource {
  return (event) => ({ type, ...placeOf(event), audience: readersOf(event, least), data: pick(event.data, fields) });
}

/** Returns a source of changes to resources, each of which may cover a whole subtree. */
function aboutResources(type: EventType, audience: (ids: readonly string[]) => Audience): EventSource {
  return (event) => {
    const ids = texts(event.data.resourceIds);
    const data = { resource_ids: ids, ...pick(event.data, CHANGE) };
    return ids.length === 0 ? undefined : { type, ...placeOf(event), audience: audience(ids), data };
  };
}

const visible = (ids: readonly string[]): Audience => ({ resources: { ids, least: 'viewer' } });
const evenTrashed = (ids: readonly string[]): Audience => ({ resources: { ids, least: 'viewer', trashed: true } });
/**
 * Returns the audience of an event about a purged resource, whose access rights are gone: administrators see everything
 * in their workspace.
 */
const administrators = (): Audience => ({ workspace: WorkspaceRole.ADMIN });

const contentUpdated: EventSource = (event) => {
  const [id = ''] = texts(event.data.resourceIds);
  const data = { resource_id: id, ...pick(event.data, [...CHANGE, 'contentVersion', 'reason']) };
  return { type: 'content.updated', ...placeOf(event), audience: visible([id]), data };
};

const comment = (type: EventType): EventSource =>
  aboutResource(type, ['commentId', 'threadId', 'parentCommentId', 'resourceId', 'authorId', ...CHANGE]);

const permission: EventSource = (event) => ({
  type: 'permission.changed',
  ...placeOf(event),
  audience: readersOf(event),
  data: { change: event.type.split('.').at(-1), ...pick(event.data, ['resourceId', 'principal', 'role', 'expiresAt']) },
});

/** Managers of the resource and the person who requested access see the request. */
const accessRequest =
  (type: EventType): EventSource =>
  (event) => ({
    type,
    ...placeOf(event),
    audience: { ...readersOf(event, 'manager'), people: [text(event.data.requesterId)] },
    data: pick(event.data, ['requestId', 'resourceId', 'requesterId', 'role', 'status']),
  });

const publication: EventSource = (event) => ({
  type: 'publication.updated',
  ...placeOf(event),
  audience: text(event.data.resourceId) === '' ? { workspace: WorkspaceRole.VIEWER } : readersOf(event),
  data: pick(event.data, ['publicationId', 'resourceId', 'status', ...CHANGE]),
});

/** Administrators of the workspace and the person who started an import or a run see its end. */
const started =
  (type: EventType, fields: readonly string[]): EventSource =>
  (event) => ({
    type,
    ...placeOf(event),
    audience: {
      people: [text(event.data.userId)],
      ...(text(event.data.workspaceId) !== '' && { workspace: WorkspaceRole.ADMIN }),
    },
    data: pick(event.data, fields),
  });

const workspaceMember =
  (type: EventType): EventSource =>
  (event) => ({
    type,
    ...placeOf(event),
    audience: { workspace: WorkspaceRole.VIEWER, people: [text(event.data.userId)] },
    data: pick(event.data, ['memberId', 'userId', 'role']),
  });

/** An open invitation names no person; the person who accepts it is added at that time. */
const orgMember =
  (type: EventType, joinedOnly = false): EventSource =>
  (event) => {
    const { userId, orgId, joined } = event.data;
    if (text(userId) === '' || (joinedOnly && joined !== true)) return undefined;
    return {
      type,
      orgId: text(orgId),
      audience: { org: 'member', people: [text(userId)] },
      data: pick(event.data, ['memberId', 'userId', 'role', 'orgId']),
    };
  };

/** Members of the Org see its groups. */
const group =
  (type: EventType): EventSource =>
  (event) => ({
    type,
    orgId: text(event.data.orgId),
    audience: { org: 'member' },
    data: pick(event.data, ['groupId', 'name', ...CHANGE, 'orgId']),
  });

/** Members of the Org see who is in its groups, and guests their own places. */
const groupMember =
  (type: EventType): EventSource =>
  (event) => ({
    type,
    orgId: text(event.data.orgId),
    audience: { org: 'member', people: [text(event.data.userId)] },
    data: pick(event.data, ['groupId', 'userId', 'orgId']),
  });

/** Administrators see events about their Org's credits; in the Personal tenant, the person does. */
const credits =
  (type: EventType, fields: readonly string[]): EventSource =>
  (event) => {
    const orgId = text(event.data.orgId);
    const audience: Audience = orgId === '' ? { people: texts(event.data.notifyUserIds) } : { org: 'admin' };
    return { type, orgId, audience, data: pick(event.data, [...fields, 'orgId']) };
  };

/** A conversation belongs to a workspace or to an Org as a whole. */
const conversationPlace = ({ data }: DomainEvent): Pick<EventDraft, 'orgId' | 'workspaceId'> => ({
  orgId: text(data.orgId),
  ...(text(data.workspaceId) !== '' && { workspaceId: text(data.workspaceId) }),
});

const MESSAGE = ['conversationId', 'messageId', 'seq', 'author', 'text', 'textIsCut', 'threadId', 'runId', 'createdAt'];

/** Present members see a message, unless it is older than the part of the conversation that they may see. */
const message =
  (type: EventType): EventSource =>
  (event) => ({
    type,
    ...conversationPlace(event),
    audience: { conversation: { id: text(event.data.conversationId), seq: Number(event.data.seq) } },
    data: { ...pick(event.data, [...MESSAGE, ...CHANGE]), text: text(event.data.text) },
  });

/** A removed member sees their removal, as the last event of the conversation. */
const conversation: EventSource = (event) => ({
  type: 'conversation.updated',
  ...conversationPlace(event),
  audience: { conversation: { id: text(event.data.conversationId) }, people: texts(event.data.userIds) },
  data: pick(event.data, ['conversationId', 'userIds', ...CHANGE]),
});

/** Only the person sees how far they have read a conversation, for their other devices. */
const conversationRead: EventSource = (event) => ({
  type: 'conversation.read',
  ...conversationPlace(event),
  audience: { people: [text(event.data.userId)] },
  data: pick(event.data, ['conversationId']),
});

/** Viewers of the workspace see its work events, and people of the tenant see those that name them. */
const work =
  (
    type: EventType,
    subject: string,
    fields: readonly string[],
    people: 'assignedUserIds' | undefined = undefined,
  ): EventSource =>
  (event) => ({
    type,
    ...placeOf(event),
    audience: {
      workspace: WorkspaceRole.VIEWER,
      ...(people !== undefined && texts(event.data[people]).length > 0 && { people: texts(event.data[people]) }),
    },
    data: { [subject]: event.subject, ...pick(event.data, fields) },
  });

const workItem = (type: EventType): EventSource => work(type, 'work_item_id', ['number', ...CHANGE], 'assignedUserIds');

const automationRun = (type: EventType): EventSource =>
  work(type, 'run_id', ['automationId', 'status', 'errorCode', 'scheduleId']);

const schedule = (type: EventType): EventSource =>
  work(type, 'schedule_id', ['scheduledFor', 'outcome', 'runId', 'reason']);

/** People who may decide an approval and the person who started the run see it. */
const approval =
  (type: EventType): EventSource =>
  (event) => ({
    type,
    ...conversationPlace(event),
    audience: {
      people: [text(event.data.userId), ...texts(event.data.approverIds), ...texts(event.data.notifyUserIds)],
    },
    data: pick(event.data, ['approvalId', 'runId', 'agentId', 'kind', 'risk', 'status', 'reason']),
  });

/** The rows of a table that one write has changed; `changed_fields` has the ids of the columns. */
const rows = (type: EventType): EventSource => aboutResource(type, ['resourceId', 'tableId', 'rowIds', ...CHANGE]);

const SUBMISSION = ['formId', 'resourceId', 'submissionId', 'rowId', 'number', 'submittedAt'];

/** Translation of each public event of the bus into the form that clients read. */
export const SOURCES: Readonly<Record<string, EventSource>> = {
  'commonplace.agents.agent_approval.decided': approval('approval.decided'),
  'commonplace.agents.agent_approval.requested': approval('approval.requested'),
  'commonplace.agents.agent_run.started': started('agent_run.started', ['runId', 'agentId', 'sessionId', 'source']),
  'commonplace.automations.automation_run.failed': automationRun('automation_run.failed'),
  'commonplace.automations.automation_run.finished': automationRun('automation_run.finished'),
  'commonplace.automations.schedule.fired': schedule('schedule.fired'),
  'commonplace.automations.schedule.missed': schedule('schedule.missed'),
  'commonplace.automations.schedule.paused': schedule('schedule.paused'),
  'commonplace.automations.work_item.created': workItem('work_item.created'),
  'commonplace.automations.work_item.updated': workItem('work_item.updated'),
  'commonplace.resources.row.created': rows('row.created'),
  'commonplace.resources.row.deleted': rows('row.deleted'),
  'commonplace.resources.row.updated': rows('row.updated'),
  'commonplace.resources.resource.created': aboutResources('resource.created', visible),
  'commonplace.resources.resource.updated': aboutResources('resource.updated', visible),
  'commonplace.resources.resource.moved': aboutResources('resource.moved', visible),
  'commonplace.resources.resource.trashed': aboutResources('resource.trashed', evenTrashed),
  'commonplace.resources.resource.restored': aboutResources('resource.restored', visible),
  'commonplace.resources.resource.purged': aboutResources('resource.purged', administrators),
  'commonplace.resources.content.updated': contentUpdated,
  'commonplace.resources.comment.created': comment('comment.created'),
  'commonplace.resources.comment.updated': comment('comment.updated'),
  'commonplace.resources.comment.resolved': comment('comment.resolved'),
  'commonplace.resources.comment.deleted': comment('comment.deleted'),
  'commonplace.resources.permission.granted': permission,
  'commonplace.resources.permission.changed': permission,
  'commonplace.resources.permission.revoked': permission,
  'commonplace.resources.access_request.created': accessRequest('access_request.created'),
  'commonplace.resources.access_request.decided': accessRequest('access_request.decided'),
  'commonplace.resources.publication.updated': publication,
  'commonplace.resources.form.submitted': aboutResource('form.submitted', SUBMISSION),
  'commonplace.files.import.finished': started('import.finished', [
    ...['importId', 'status', 'rootResourceId', 'created', 'failed', 'code'],
  ]),
  'commonplace.tenancy.workspace_member.added': workspaceMember('member.added'),
  'commonplace.tenancy.workspace_member.removed': workspaceMember('member.removed'),
  'commonplace.tenancy.org_member.added': orgMember('member.added'),
  'commonplace.tenancy.org_member.updated': orgMember('member.added', true),
  'commonplace.tenancy.org_member.removed': orgMember('member.removed'),
  'commonplace.tenancy.group.created': group('group.created'),
  'commonplace.tenancy.group.updated': group('group.updated'),
  'commonplace.tenancy.group.deleted': group('group.deleted'),
  'commonplace.tenancy.group_member.added': groupMember('group_member.added'),
  'commonplace.tenancy.group_member.removed': groupMember('group_member.removed'),
  'commonplace.tenancy.usage.alert': credits('usage.alert', ['about', 'threshold', 'used', 'limit', 'period']),
  'commonplace.tenancy.credits.low': credits('credits.low', ['threshold', 'available', 'granted', 'period']),
  'commonplace.messaging.message.created': message('message.created'),
  'commonplace.messaging.message.updated': message('message.updated'),
  'commonplace.messaging.message.deleted': message('message.deleted'),
  'commonplace.messaging.conversation.updated': conversation,
  'commonplace.messaging.conversation.read': conversationRead,
  'commonplace.agents.agent_run.finished': started('agent_run.finished', [
    ...['runId', 'status', 'agentId', 'sessionId', 'source', 'code'],
  ]),
};

/** Translates an event of the bus; returns undefined for an event that is not public. */
export function draftOf(event: DomainEvent): EventDraft | undefined {
  return SOURCES[event.type]?.(event);
}
