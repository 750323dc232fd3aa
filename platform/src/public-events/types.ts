import type { Scope } from '@commonplace/kit/auth';

/** Types of events that clients can subscribe to. A reader needs one of the scopes listed for a type. */
export const SCOPES_OF = {
  'resource.created': ['resource:read'],
  'resource.updated': ['resource:read'],
  'resource.moved': ['resource:read'],
  'resource.trashed': ['resource:read'],
  'resource.restored': ['resource:read'],
  'resource.purged': ['resource:read'],
  'content.updated': ['content:read'],
  'comment.created': ['comment:read'],
  'comment.updated': ['comment:read'],
  'comment.resolved': ['comment:read'],
  'comment.deleted': ['comment:read'],
  'permission.changed': ['resource:read'],
  'access_request.created': ['access_request:read', 'access_request:write'],
  'access_request.decided': ['access_request:read', 'access_request:write'],
  'publication.updated': ['publish:read'],
  'form.submitted': ['form:read'],
  'row.created': ['content:read'],
  'row.updated': ['content:read'],
  'row.deleted': ['content:read'],
  'import.finished': ['import:read'],
  'member.added': ['member:read', 'org_member:read'],
  'member.removed': ['member:read', 'org_member:read'],
  'group.created': ['org_member:read'],
  'group.updated': ['org_member:read'],
  'group.deleted': ['org_member:read'],
  'group_member.added': ['org_member:read'],
  'group_member.removed': ['org_member:read'],
  'work_item.created': ['work_item:read'],
  'work_item.updated': ['work_item:read'],
  'message.created': ['im:read'],
  'message.updated': ['im:read'],
  'message.deleted': ['im:read'],
  'conversation.updated': ['im:read'],
  'conversation.read': ['im:read'],
  'agent_run.started': ['agent_run:read'],
  'agent_run.finished': ['agent_run:read'],
  'approval.requested': ['agent_approval:read'],
  'approval.decided': ['agent_approval:read'],
  'automation_run.finished': ['automation:read'],
  'automation_run.failed': ['automation:read'],
  'schedule.fired': ['agent_schedule:read'],
  'schedule.missed': ['agent_schedule:read'],
  'schedule.paused': ['agent_schedule:read'],
  'usage.alert': ['usage:read'],
  'credits.low': ['credit:read'],
} as const satisfies Readonly<Record<string, readonly Scope[]>>;

export type EventType = keyof typeof SCOPES_OF;

export const EVENT_TYPES = Object.keys(SCOPES_OF) as readonly EventType[];

/** Returns whether a text names a type of events. */
export function isEventType(text: string): text is EventType {
  return Object.hasOwn(SCOPES_OF, text);
}
