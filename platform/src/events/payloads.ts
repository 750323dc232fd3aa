import { AgentApprovalDecided, AgentApprovalRequested, AgentChanged, AgentRunFinished, AgentRunStarted, McpServerDisabled, MemoryProposed } from '@commonplace/proto/agents/v1/events.js';
import { AutomationDeleted, AutomationRunFinished, NotificationRequested, ScheduleChanged, WorkItemChanged } from '@commonplace/proto/automations/v1/events.js';
import { FileChanged, ImportFinished } from '@commonplace/proto/files/v1/events.js';
import { ConversationRead, ConversationUpdated, MessageChanged } from '@commonplace/proto/messaging/v1/events.js';
import { ResourceChanged } from '@commonplace/proto/resources/v1/events.js';
import { CreditsLow, OrgChanged, OrgMemberChanged, UsageAlert, WorkspaceChanged, WorkspaceMemberChanged } from '@commonplace/proto/tenancy/v1/events.js';

/** The messages of the contract that events carry, by the event's name: its type without `commonplace.`. */
export const PAYLOADS = {
  'agents.agent.created': AgentChanged,
  'agents.agent.deleted': AgentChanged,
  'agents.agent.updated': AgentChanged,
  'agents.agent_approval.decided': AgentApprovalDecided,
  'agents.agent_approval.requested': AgentApprovalRequested,
  'agents.agent_run.finished': AgentRunFinished,
  'agents.agent_run.started': AgentRunStarted,
  'agents.mcp_server.disabled': McpServerDisabled,
  'agents.memory.proposed': MemoryProposed,
  'automations.automation.deleted': AutomationDeleted,
  'automations.automation_run.failed': AutomationRunFinished,
  'automations.automation_run.finished': AutomationRunFinished,
  'automations.notification.requested': NotificationRequested,
  'automations.schedule.paused': ScheduleChanged,
  'automations.work_item.created': WorkItemChanged,
  'automations.work_item.updated': WorkItemChanged,
  'files.file.failed': FileChanged,
  'files.file.ready': FileChanged,
  'files.import.finished': ImportFinished,
  'messaging.conversation.read': ConversationRead,
  'messaging.conversation.updated': ConversationUpdated,
  'messaging.message.created': MessageChanged,
  'messaging.message.deleted': MessageChanged,
  'messaging.message.updated': MessageChanged,
  'resources.resource.purged': ResourceChanged,
  'tenancy.credits.low': CreditsLow,
  'tenancy.org.deleted': OrgChanged,
  'tenancy.org.purged': OrgChanged,
  'tenancy.org.restored': OrgChanged,
  'tenancy.org_member.added': OrgMemberChanged,
  'tenancy.org_member.removed': OrgMemberChanged,
  'tenancy.org_member.updated': OrgMemberChanged,
  'tenancy.usage.alert': UsageAlert,
  'tenancy.workspace.archived': WorkspaceChanged,
  'tenancy.workspace.purged': WorkspaceChanged,
  'tenancy.workspace.unarchived': WorkspaceChanged,
  'tenancy.workspace_member.added': WorkspaceMemberChanged,
  'tenancy.workspace_member.removed': WorkspaceMemberChanged,
  'tenancy.workspace_member.updated': WorkspaceMemberChanged,
} as const;

export type EventName = keyof typeof PAYLOADS;

/** The payload of an event. */
export type Payload<Name extends EventName> = ReturnType<(typeof PAYLOADS)[Name]['fromPartial']>;
