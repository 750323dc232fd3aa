import {
  AgentApprovalDecided,
  AgentApprovalRequested,
  AgentChanged,
  AgentRunFinished,
  AgentRunStarted,
  ChatSessionDeleted,
  McpServerDisabled,
  MemoryProposed,
} from '@commonplace/proto/agents/v1/events.js';
import {
  AutomationDeleted,
  AutomationRunFinished,
  AutomationUpdated,
  NotificationRequested,
  ScheduleChanged,
  WorkItemChanged,
} from '@commonplace/proto/automations/v1/events.js';
import { FileChanged, ImportFinished } from '@commonplace/proto/files/v1/events.js';
import { UserReclaimed } from '@commonplace/proto/identity/v1/events.js';
import { ConversationRead, ConversationUpdated, MessageChanged } from '@commonplace/proto/messaging/v1/events.js';
import { PermissionChanged, ResourceChanged } from '@commonplace/proto/resources/v1/events.js';
import {
  CreditsLow,
  GroupChanged,
  OrgChanged,
  OrgMemberChanged,
  UsageAlert,
  WorkspaceChanged,
  WorkspaceMemberChanged,
} from '@commonplace/proto/tenancy/v1/events.js';

/** Returns a function that reads a payload; fields that it does not have get the default of their type. */
function reader<Message>(message: { fromPartial(data: object): Message }): (data: object) => Message {
  return (data) => message.fromPartial(data);
}

/** Message type of each event's payload, by the event's name: its type without `commonplace.`. */
export const PAYLOADS = {
  'agents.agent.created': reader(AgentChanged),
  'agents.agent.deleted': reader(AgentChanged),
  'agents.agent.updated': reader(AgentChanged),
  'agents.agent_approval.decided': reader(AgentApprovalDecided),
  'agents.agent_approval.requested': reader(AgentApprovalRequested),
  'agents.agent_run.finished': reader(AgentRunFinished),
  'agents.agent_run.started': reader(AgentRunStarted),
  'agents.chat_session.deleted': reader(ChatSessionDeleted),
  'agents.mcp_server.disabled': reader(McpServerDisabled),
  'agents.memory.proposed': reader(MemoryProposed),
  'automations.automation.deleted': reader(AutomationDeleted),
  'automations.automation.updated': reader(AutomationUpdated),
  'automations.automation_run.failed': reader(AutomationRunFinished),
  'automations.automation_run.finished': reader(AutomationRunFinished),
  'automations.notification.requested': reader(NotificationRequested),
  'automations.schedule.paused': reader(ScheduleChanged),
  'automations.work_item.created': reader(WorkItemChanged),
  'automations.work_item.updated': reader(WorkItemChanged),
  'files.file.failed': reader(FileChanged),
  'files.file.ready': reader(FileChanged),
  'files.import.finished': reader(ImportFinished),
  'identity.user.reclaimed': reader(UserReclaimed),
  'messaging.conversation.read': reader(ConversationRead),
  'messaging.conversation.updated': reader(ConversationUpdated),
  'messaging.message.created': reader(MessageChanged),
  'messaging.message.deleted': reader(MessageChanged),
  'messaging.message.updated': reader(MessageChanged),
  'resources.permission.changed': reader(PermissionChanged),
  'resources.permission.granted': reader(PermissionChanged),
  'resources.resource.moved': reader(ResourceChanged),
  'resources.resource.purged': reader(ResourceChanged),
  'tenancy.credits.low': reader(CreditsLow),
  'tenancy.group.deleted': reader(GroupChanged),
  'tenancy.org.deleted': reader(OrgChanged),
  'tenancy.org.purged': reader(OrgChanged),
  'tenancy.org.restored': reader(OrgChanged),
  'tenancy.org_member.added': reader(OrgMemberChanged),
  'tenancy.org_member.removed': reader(OrgMemberChanged),
  'tenancy.org_member.updated': reader(OrgMemberChanged),
  'tenancy.usage.alert': reader(UsageAlert),
  'tenancy.workspace.archived': reader(WorkspaceChanged),
  'tenancy.workspace.purged': reader(WorkspaceChanged),
  'tenancy.workspace.unarchived': reader(WorkspaceChanged),
  'tenancy.workspace_member.added': reader(WorkspaceMemberChanged),
  'tenancy.workspace_member.removed': reader(WorkspaceMemberChanged),
  'tenancy.workspace_member.updated': reader(WorkspaceMemberChanged),
} as const;

export type EventName = keyof typeof PAYLOADS;

export type Payload<Name extends EventName> = ReturnType<(typeof PAYLOADS)[Name]>;
