import {
  type Envelope,
  type RewrapParts,
  type Rewrapped,
  rewrapEach,
  rewrapField,
  rewrapSealed,
} from '@commonplace/kit/secrets';
import { approvalCollection } from '../stores/approvals.js';
import {
  type McpSecrets,
  type McpServerRecord,
  mcpAuthorizationCollection,
  mcpClientCollection,
  mcpGrantCollection,
  mcpServerCollection,
} from '../stores/mcp-servers.js';

type Owner = { readonly id: string; readonly tenant: string };

/**
 * Returns the id by which the state of a call is bound to it. Models number their calls from one in each run, so the id
 * of a call is unique only together with that of the run.
 */
export const callId = (runId: string, toolCallId: string): string => `${runId}:${toolCallId}`;

/** Encrypts a value and binds it to one record. */
export function seal(envelope: Envelope, { id, tenant }: Owner, value: object): string {
  return envelope.seal(JSON.stringify(value), { tenant, record: id });
}

/** Decrypts a value that was encrypted for a record. Throws `SecretUnreadable`. */
export function unseal<T>(envelope: Envelope, { id, tenant }: Owner, sealed: string): T {
  return JSON.parse(envelope.open(sealed, { tenant, record: id })) as T;
}

export function secretsOf(envelope: Envelope, server: McpServerRecord): McpSecrets {
  return server.sealed === undefined ? {} : unseal<McpSecrets>(envelope, server, server.sealed);
}

/** Returns the headers for a server with its credentials, except OAuth tokens. */
export function headersOf(server: McpServerRecord, { token, headers = {} }: McpSecrets): Record<string, string> {
  const { type, headerName } = server.auth;
  if (token === undefined) return { ...headers };
  if (type === 'bearer') return { ...headers, authorization: `Bearer ${token}` };
  if (type === 'header' && headerName !== undefined) return { ...headers, [headerName]: token };
  return { ...headers };
}

/**
 * Re-encrypts every secret of MCP servers with the current master key, and the state of each call that waits for an
 * answer, so that older keys can be removed from the settings. It commits record by record, so that an interrupted run
 * keeps its progress. Calls `each` after every record.
 */
export function rewrapMcpSecrets(parts: RewrapParts, each?: () => void): Promise<Rewrapped> {
  return rewrapEach(REWRAPS, parts, each);
}

const REWRAPS = [
  rewrapSealed(mcpServerCollection),
  rewrapSealed(mcpGrantCollection),
  rewrapSealed(mcpAuthorizationCollection),
  rewrapSealed(mcpClientCollection),
  rewrapField({
    spec: approvalCollection,
    // A call that was answered continues in a process that still has the older keys.
    sealedOf: ({ questionState, status }) => (status === 'pending' ? questionState : undefined),
    ownerOf: ({ tenant, runId, stepId }) => ({ tenant, record: callId(runId, stepId) }),
    withSealed: (approval, questionState) => ({ ...approval, questionState }),
  }),
];
