import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { AgentDirectoryService } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import type { FileService } from '@commonplace/proto/files/v1/file_service.js';
import type { FileTextService } from '@commonplace/proto/files/v1/file_text_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { EntryService } from '@commonplace/proto/search/v1/entry_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { WorkspaceService } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import type { NodeParts } from './nodes/parts.js';
import type { Quotas } from './nodes/quotas.js';
import type { Policy } from './policy.js';

/** Clients of the other services that this service calls. */
interface Peers {
  readonly agents: Client<AgentDirectoryService>;
  readonly users: Client<AuthService>;
  readonly directory: Client<DirectoryService>;
  readonly workspaces: Client<WorkspaceService>;
  readonly files: Client<FileService>;
  readonly fileTexts: Client<FileTextService>;
  readonly entries: Client<EntryService>;
}

/** Holds what every feature depends on; `parts.ts` of a feature adds its own. */
export interface Parts extends NodeParts {
  readonly policy: Policy;
  readonly quotas: Quotas;
  readonly peers: Peers;
  /** Returns the options for a call that the service makes by itself, without a caller. */
  readonly systemCall: () => CallOptions;
  readonly log: Log;
}
