import { contract } from '@commonplace/kit/rpc';
import {
  type AgentDirectoryService,
  AgentDirectoryServiceService,
} from '@commonplace/proto/agents/v1/agent_directory_service.js';
import { type AgentService, AgentServiceService } from '@commonplace/proto/agents/v1/agent_service.js';
import { type ApprovalService, ApprovalServiceService } from '@commonplace/proto/agents/v1/approval_service.js';
import {
  type ChatSessionService,
  ChatSessionServiceService,
} from '@commonplace/proto/agents/v1/chat_session_service.js';
import {
  type ConversationRunService,
  ConversationRunServiceService,
} from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { type McpService, McpServiceService } from '@commonplace/proto/agents/v1/mcp_service.js';
import { type MemoryService, MemoryServiceService } from '@commonplace/proto/agents/v1/memory_service.js';
import { type ModelService, ModelServiceService } from '@commonplace/proto/agents/v1/model_service.js';
import { type RunService, RunServiceService } from '@commonplace/proto/agents/v1/run_service.js';
import { type SkillService, SkillServiceService } from '@commonplace/proto/agents/v1/skill_service.js';
import { type WorkRunService, WorkRunServiceService } from '@commonplace/proto/agents/v1/work_run_service.js';
import {
  type AutomationHookService,
  AutomationHookServiceService,
  type AutomationService,
  AutomationServiceService,
} from '@commonplace/proto/automations/v1/automation_service.js';
import { type ScheduleService, ScheduleServiceService } from '@commonplace/proto/automations/v1/schedule_service.js';
import {
  type WorkDirectoryService,
  WorkDirectoryServiceService,
} from '@commonplace/proto/automations/v1/work_directory_service.js';
import { type WorkItemService, WorkItemServiceService } from '@commonplace/proto/automations/v1/work_item_service.js';
import { type ArchiveService, ArchiveServiceService } from '@commonplace/proto/files/v1/archive_service.js';
import { type BytesService, BytesServiceService } from '@commonplace/proto/files/v1/bytes_service.js';
import { type FileService, FileServiceService } from '@commonplace/proto/files/v1/file_service.js';
import { type FileTextService, FileTextServiceService } from '@commonplace/proto/files/v1/file_text_service.js';
import { type ImportService, ImportServiceService } from '@commonplace/proto/files/v1/import_service.js';
import { type StorageService, StorageServiceService } from '@commonplace/proto/files/v1/storage_service.js';
import {
  type AccountSecurityService,
  AccountSecurityServiceService,
} from '@commonplace/proto/identity/v1/account_security_service.js';
import { type AccountService, AccountServiceService } from '@commonplace/proto/identity/v1/account_service.js';
import { type ApiKeyService, ApiKeyServiceService } from '@commonplace/proto/identity/v1/api_key_service.js';
import { type AuthService, AuthServiceService } from '@commonplace/proto/identity/v1/auth_service.js';
import {
  type AuditEventService,
  AuditEventServiceService,
} from '@commonplace/proto/messaging/v1/audit_event_service.js';
import {
  type ConversationAccessService,
  ConversationAccessServiceService,
} from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import {
  type ConversationService,
  ConversationServiceService,
} from '@commonplace/proto/messaging/v1/conversation_service.js';
import {
  type EventStreamService,
  EventStreamServiceService,
} from '@commonplace/proto/messaging/v1/event_stream_service.js';
import { type MessageService, MessageServiceService } from '@commonplace/proto/messaging/v1/message_service.js';
import {
  type NotificationService,
  NotificationServiceService,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import {
  type AccessRequestService,
  AccessRequestServiceService,
} from '@commonplace/proto/resources/v1/access_request_service.js';
import { type CommentService, CommentServiceService } from '@commonplace/proto/resources/v1/comment_service.js';
import { type ContentService, ContentServiceService } from '@commonplace/proto/resources/v1/content_service.js';
import { type CopyService, CopyServiceService } from '@commonplace/proto/resources/v1/copy_service.js';
import { type FileNodeService, FileNodeServiceService } from '@commonplace/proto/resources/v1/file_node_service.js';
import { type FormPageService, FormPageServiceService } from '@commonplace/proto/resources/v1/form_page_service.js';
import {
  type FormHookService,
  FormHookServiceService,
  type FormService,
  FormServiceService,
} from '@commonplace/proto/resources/v1/form_service.js';
import { type IndexService, IndexServiceService } from '@commonplace/proto/resources/v1/index_service.js';
import {
  type PermissionService,
  PermissionServiceService,
} from '@commonplace/proto/resources/v1/permission_service.js';
import {
  type PublicationService,
  PublicationServiceService,
} from '@commonplace/proto/resources/v1/publication_service.js';
import { type ReaderService, ReaderServiceService } from '@commonplace/proto/resources/v1/reader_service.js';
import { type ResourceService, ResourceServiceService } from '@commonplace/proto/resources/v1/resource_service.js';
import { type SnapshotService, SnapshotServiceService } from '@commonplace/proto/resources/v1/snapshot_service.js';
import { type TagService, TagServiceService } from '@commonplace/proto/resources/v1/tag_service.js';
import {
  type TemplateService,
  TemplateServiceService,
  type TemplateUseService,
  TemplateUseServiceService,
} from '@commonplace/proto/resources/v1/template_service.js';
import { type TrashService, TrashServiceService } from '@commonplace/proto/resources/v1/trash_service.js';
import {
  type TreeExportService,
  TreeExportServiceService,
} from '@commonplace/proto/resources/v1/tree_export_service.js';
import {
  type TreeImportService,
  TreeImportServiceService,
} from '@commonplace/proto/resources/v1/tree_import_service.js';
import {
  type EmbeddingModelService,
  EmbeddingModelServiceService,
} from '@commonplace/proto/search/v1/embedding_model_service.js';
import { type EntryService, EntryServiceService } from '@commonplace/proto/search/v1/entry_service.js';
import { type SearchService, SearchServiceService } from '@commonplace/proto/search/v1/search_service.js';
import { type UpkeepService, UpkeepServiceService } from '@commonplace/proto/search/v1/upkeep_service.js';
import { type ConnectorService, ConnectorServiceService } from '@commonplace/proto/tenancy/v1/connector_service.js';
import {
  type CreditService,
  CreditServiceService,
  type MeteringService,
  MeteringServiceService,
} from '@commonplace/proto/tenancy/v1/credit_service.js';
import { type DirectoryService, DirectoryServiceService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { type GroupService, GroupServiceService } from '@commonplace/proto/tenancy/v1/group_service.js';
import { type OrgService, OrgServiceService } from '@commonplace/proto/tenancy/v1/org_service.js';
import { type PinService, PinServiceService } from '@commonplace/proto/tenancy/v1/pin_service.js';
import { type WorkspaceService, WorkspaceServiceService } from '@commonplace/proto/tenancy/v1/workspace_service.js';

/** Every rpc service, with the name of the service that owns it. */
export const contracts = {
  account: contract<AccountService>('identity', AccountServiceService),
  accountSecurity: contract<AccountSecurityService>('identity', AccountSecurityServiceService),
  apiKeys: contract<ApiKeyService>('identity', ApiKeyServiceService),
  auth: contract<AuthService>('identity', AuthServiceService),
  orgs: contract<OrgService>('tenancy', OrgServiceService),
  groups: contract<GroupService>('tenancy', GroupServiceService),
  workspaces: contract<WorkspaceService>('tenancy', WorkspaceServiceService),
  credits: contract<CreditService>('tenancy', CreditServiceService),
  metering: contract<MeteringService>('tenancy', MeteringServiceService),
  directory: contract<DirectoryService>('tenancy', DirectoryServiceService),
  pins: contract<PinService>('tenancy', PinServiceService),
  connectors: contract<ConnectorService>('tenancy', ConnectorServiceService),
  resources: contract<ResourceService>('resources', ResourceServiceService),
  content: contract<ContentService>('resources', ContentServiceService),
  copies: contract<CopyService>('resources', CopyServiceService),
  snapshots: contract<SnapshotService>('resources', SnapshotServiceService),
  permissions: contract<PermissionService>('resources', PermissionServiceService),
  accessRequests: contract<AccessRequestService>('resources', AccessRequestServiceService),
  trash: contract<TrashService>('resources', TrashServiceService),
  tags: contract<TagService>('resources', TagServiceService),
  comments: contract<CommentService>('resources', CommentServiceService),
  templates: contract<TemplateService>('resources', TemplateServiceService),
  templateUse: contract<TemplateUseService>('resources', TemplateUseServiceService),
  forms: contract<FormService>('resources', FormServiceService),
  formHooks: contract<FormHookService>('resources', FormHookServiceService),
  formPages: contract<FormPageService>('resources', FormPageServiceService),
  index: contract<IndexService>('resources', IndexServiceService),
  fileNodes: contract<FileNodeService>('resources', FileNodeServiceService),
  treeImports: contract<TreeImportService>('resources', TreeImportServiceService),
  publications: contract<PublicationService>('resources', PublicationServiceService),
  reader: contract<ReaderService>('resources', ReaderServiceService),
  files: contract<FileService>('files', FileServiceService),
  imports: contract<ImportService>('files', ImportServiceService),
  storage: contract<StorageService>('files', StorageServiceService),
  bytes: contract<BytesService>('files', BytesServiceService),
  fileTexts: contract<FileTextService>('files', FileTextServiceService),
  treeExports: contract<TreeExportService>('resources', TreeExportServiceService),
  archives: contract<ArchiveService>('files', ArchiveServiceService),
  search: contract<SearchService>('search', SearchServiceService),
  entries: contract<EntryService>('search', EntryServiceService),
  embeddingModels: contract<EmbeddingModelService>('search', EmbeddingModelServiceService),
  searchUpkeep: contract<UpkeepService>('search', UpkeepServiceService),
  auditEvents: contract<AuditEventService>('messaging', AuditEventServiceService),
  conversations: contract<ConversationService>('messaging', ConversationServiceService),
  messages: contract<MessageService>('messaging', MessageServiceService),
  conversationAccess: contract<ConversationAccessService>('messaging', ConversationAccessServiceService),
  eventStreams: contract<EventStreamService>('messaging', EventStreamServiceService),
  notifications: contract<NotificationService>('messaging', NotificationServiceService),
  chatSessions: contract<ChatSessionService>('agents', ChatSessionServiceService),
  runs: contract<RunService>('agents', RunServiceService),
  models: contract<ModelService>('agents', ModelServiceService),
  agents: contract<AgentService>('agents', AgentServiceService),
  agentDirectory: contract<AgentDirectoryService>('agents', AgentDirectoryServiceService),
  conversationRuns: contract<ConversationRunService>('agents', ConversationRunServiceService),
  skills: contract<SkillService>('agents', SkillServiceService),
  mcpServers: contract<McpService>('agents', McpServiceService),
  memories: contract<MemoryService>('agents', MemoryServiceService),
  approvals: contract<ApprovalService>('agents', ApprovalServiceService),
  workRuns: contract<WorkRunService>('agents', WorkRunServiceService),
  automations: contract<AutomationService>('automations', AutomationServiceService),
  automationHooks: contract<AutomationHookService>('automations', AutomationHookServiceService),
  schedules: contract<ScheduleService>('automations', ScheduleServiceService),
  workDirectory: contract<WorkDirectoryService>('automations', WorkDirectoryServiceService),
  workItems: contract<WorkItemService>('automations', WorkItemServiceService),
} as const;
