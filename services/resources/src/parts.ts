import type { Log } from '@commonplace/kit/log';
import type { CallOptions } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import type { Clients } from '@commonplace/platform/runtime';
import type { NodeParts } from './nodes/parts.js';
import type { Quotas } from './nodes/quotas.js';
import type { Policy } from './policy.js';

/** The contracts of other services that this service calls. */
export const PEERS = {
  agents: contracts.agentDirectory,
  users: contracts.auth,
  directory: contracts.directory,
  workspaces: contracts.workspaces,
  files: contracts.files,
  fileTexts: contracts.fileTexts,
  entries: contracts.entries,
};

/** Holds what every feature depends on; `parts.ts` of a feature adds its own. */
export interface Parts extends NodeParts {
  readonly policy: Policy;
  readonly quotas: Quotas;
  readonly peers: Clients<typeof PEERS>;
  /** Returns the options for a call that the service makes by itself, without a caller. */
  readonly systemCall: () => CallOptions;
  readonly log: Log;
}
