import { contract } from '@commonplace/kit/rpc';
import { AgentDirectoryServiceService } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import { AgentServiceService } from '@commonplace/proto/agents/v1/agent_service.js';
import { ApprovalServiceService } from '@commonplace/proto/agents/v1/approval_service.js';
import { ChatSessionServiceService } from '@commonplace/proto/agents/v1/chat_session_service.js';
import { ConversationRunServiceService } from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { McpServiceService } from '@commonplace/proto/agents/v1/mcp_service.js';
import { MemoryServiceService } from '@commonplace/proto/agents/v1/memory_service.js';
import { ModelServiceService } from '@commonplace/proto/agents/v1/model_service.js';
import { RunServiceService } from '@commonplace/proto/agents/v1/run_service.js';
import { SkillServiceService } from '@commonplace/proto/agents/v1/skill_service.js';
import { WorkRunServiceService } from '@commonplace/proto/agents/v1/work_run_service.js';
import {
  AutomationHookServiceService,
  AutomationServiceService,
} from '@commonplace/proto/automations/v1/automation_service.js';
import { ScheduleServiceService } from '@commonplace/proto/automations/v1/schedule_service.js';
import { WorkDirectoryServiceService } from '@commonplace/proto/automations/v1/work_directory_service.js';
import { WorkItemServiceService } from '@commonplace/proto/automations/v1/work_item_service.js';
import { ArchiveServiceService } from '@commonplace/proto/files/v1/archive_service.js';
import { BytesServiceService } from '@commonplace/proto/files/v1/bytes_service.js';
import { FileServiceService } from '@commonplace/proto/files/v1/file_service.js';
import { FileTextServiceService } from '@commonplace/proto/files/v1/file_text_service.js';
import { ImportServiceService } from '@commonplace/proto/files/v1/import_service.js';
import { StorageServiceService } from '@commonplace/proto/files/v1/storage_service.js';
import { AccountSecurityServiceService } from '@commonplace/proto/identity/v1/account_security_service.js';
import { AccountServiceService } from '@commonplace/proto/identity/v1/account_service.js';
import { ApiKeyServiceService } from '@commonplace/proto/identity/v1/api_key_service.js';
import { AuthServiceService } from '@commonplace/proto/identity/v1/auth_service.js';
import { AuditEventServiceService } from '@commonplace/proto/messaging/v1/audit_event_service.js';
import { ConversationAccessServiceService } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import { ConversationServiceService } from '@commonplace/proto/messaging/v1/conversation_service.js';
import { EventStreamServiceService } from '@commonplace/proto/messaging/v1/event_stream_service.js';
import { MessageServiceService } from '@commonplace/proto/messaging/v1/message_service.js';
import { NotificationServiceService } from '@commonplace/proto/messaging/v1/notification_service.js';
import { AccessRequestServiceService } from '@commonplace/proto/resources/v1/access_request_service.js';
import { CommentServiceService } from '@commonplace/proto/resources/v1/comment_service.js';
import { ContentServiceService } from '@commonplace/proto/resources/v1/content_service.js';
import { CopyServiceService } from '@commonplace/proto/resources/v1/copy_service.js';
import { FileNodeServiceService } from '@commonplace/proto/resources/v1/file_node_service.js';
import { FormPageServiceService } from '@commonplace/proto/resources/v1/form_page_service.js';
import { FormHookServiceService, FormServiceService } from '@commonplace/proto/resources/v1/form_service.js';
import { IndexServiceService } from '@commonplace/proto/resources/v1/index_service.js';
import { PermissionServiceService } from '@commonplace/proto/resources/v1/permission_service.js';
import { PublicationServiceService } from '@commonplace/proto/resources/v1/publication_service.js';
import { ReaderServiceService } from '@commonplace/proto/resources/v1/reader_service.js';
import { ResourceServiceService } from '@commonplace/proto/resources/v1/resource_service.js';
import { SnapshotServiceService } from '@commonplace/proto/resources/v1/snapshot_service.js';
import { TagServiceService } from '@commonplace/proto/resources/v1/tag_service.js';
import { TemplateServiceService, TemplateUseServiceService } from '@commonplace/proto/resources/v1/template_service.js';
import { TrashServiceService } from '@commonplace/proto/resources/v1/trash_service.js';
import { TreeExportServiceService } from '@commonplace/proto/resources/v1/tree_export_service.js';
import { TreeImportServiceService } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { EmbeddingModelServiceService } from '@commonplace/proto/search/v1/embedding_model_service.js';
import { EntryServiceService } from '@commonplace/proto/search/v1/entry_service.js';
import { SearchServiceService } from '@commonplace/proto/search/v1/search_service.js';
import { UpkeepServiceService } from '@commonplace/proto/search/v1/upkeep_service.js';
import { ConnectorServiceService } from '@commonplace/proto/tenancy/v1/connector_service.js';
import { CreditServiceService, MeteringServiceService } from '@commonplace/proto/tenancy/v1/credit_service.js';
import { DirectoryServiceService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { GroupServiceService } from '@commonplace/proto/tenancy/v1/group_service.js';
import { OrgServiceService } from '@commonplace/proto/tenancy/v1/org_service.js';
import { PinServiceService } from '@commonplace/proto/tenancy/v1/pin_service.js';
import { WorkspaceServiceService } from '@commonplace/proto/tenancy/v1/workspace_service.js';

/** Every rpc service, with the name of the service that owns it. */
export const contracts = {
  account: contract('identity', AccountServiceService),
  accountSecurity: contract('identity', AccountSecurityServiceService),
  apiKeys: contract('identity', ApiKeyServiceService),
  auth: contract('identity', AuthServiceService),
  orgs: contract('tenancy', OrgServiceService),
  groups: contract('tenancy', GroupServiceService),
  workspaces: contract('tenancy', WorkspaceServiceService),
  credits: contract('tenancy', CreditServiceService),
  metering: contract('tenancy', MeteringServiceService),
  directory: contract('tenancy', DirectoryServiceService),
  pins: contract('tenancy', PinServiceService),
  connectors: contract('tenancy', ConnectorServiceService),
  resources: contract('resources', ResourceServiceService),
  content: contract('resources', ContentServiceService),
  copies: contract('resources', CopyServiceService),
  snapshots: contract('resources', SnapshotServiceService),
  permissions: contract('resources', PermissionServiceService),
  accessRequests: contract('resources', AccessRequestServiceService),
  trash: contract('resources', TrashServiceService),
  tags: contract('resources', TagServiceService),
  comments: contract('resources', CommentServiceService),
  templates: contract('resources', TemplateServiceService),
  templateUse: contract('resources', TemplateUseServiceService),
  forms: contract('resources', FormServiceService),
  formHooks: contract('resources', FormHookServiceService),
  formPages: contract('resources', FormPageServiceService),
  index: contract('resources', IndexServiceService),
  fileNodes: contract('resources', FileNodeServiceService),
  treeImports: contract('resources', TreeImportServiceService),
  publications: contract('resources', PublicationServiceService),
  reader: contract('resources', ReaderServiceService),
  files: contract('files', FileServiceService),
  imports: contract('files', ImportServiceService),
  storage: contract('files', StorageServiceService),
  bytes: contract('files', BytesServiceService),
  fileTexts: contract('files', FileTextServiceService),
  treeExports: contract('resources', TreeExportServiceService),
  archives: contract('files', ArchiveServiceService),
  search: contract('search', SearchServiceService),
  entries: contract('search', EntryServiceService),
  embeddingModels: contract('search', EmbeddingModelServiceService),
  searchUpkeep: contract('search', UpkeepServiceService),
  auditEvents: contract('messaging', AuditEventServiceService),
  conversations: contract('messaging', ConversationServiceService),
  messages: contract('messaging', MessageServiceService),
  conversationAccess: contract('messaging', ConversationAccessServiceService),
  eventStreams: contract('messaging', EventStreamServiceService),
  notifications: contract('messaging', NotificationServiceService),
  chatSessions: contract('agents', ChatSessionServiceService),
  runs: contract('agents', RunServiceService),
  models: contract('agents', ModelServiceService),
  agents: contract('agents', AgentServiceService),
  agentDirectory: contract('agents', AgentDirectoryServiceService),
  conversationRuns: contract('agents', ConversationRunServiceService),
  skills: contract('agents', SkillServiceService),
  mcpServers: contract('agents', McpServiceService),
  memories: contract('agents', MemoryServiceService),
  approvals: contract('agents', ApprovalServiceService),
  workRuns: contract('agents', WorkRunServiceService),
  automations: contract('automations', AutomationServiceService),
  automationHooks: contract('automations', AutomationHookServiceService),
  schedules: contract('automations', ScheduleServiceService),
  workDirectory: contract('automations', WorkDirectoryServiceService),
  workItems: contract('automations', WorkItemServiceService),
} as const;
