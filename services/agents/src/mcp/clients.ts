import { createHash } from 'node:crypto';
import { inWork } from '@commonplace/kit/store';
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import type { McpClientRecord, McpServerRecord } from '../stores/mcp-servers.js';
import { AUTHORIZATION_MS, CLIENT_MS } from './limits.js';
import type { McpParts } from './parts.js';
import { seal, unseal } from './secrets.js';

type ClientParts = Pick<McpParts, 'mcpClients' | 'envelope' | 'store'>;
type Server = Pick<McpServerRecord, 'id' | 'tenant'>;

/** Returns the id of a registration, which is derived from MCP server, issuer and redirect URI. */
function clientId(serverId: string, issuer: string, redirectUri: string): string {
  return createHash('sha256')
    .update(JSON.stringify([serverId, issuer, redirectUri]))
    .digest('base64url');
}

/**
 * Returns this client's registration at an authorization server, registering it if necessary. A registration is
 * replaced if an authorization begun with it was not completed within ten minutes, since the authorization server may
 * have forgotten it.
 */
export async function registeredClient(
  parts: ClientParts,
  server: Server,
  { issuer, redirectUri }: { readonly issuer: string; readonly redirectUri: string },
  register: () => Promise<OAuthClientInformationMixed>,
): Promise<OAuthClientInformationMixed> {
  const id = clientId(server.id, issuer, redirectUri);
  const now = Date.now();
  const known = await parts.mcpClients.get(id);
  if (known !== undefined && isOfUse(known, now)) {
    const client = unseal<OAuthClientInformationMixed>(parts.envelope, known, known.sealed);
    if (!hasExpired(client, now)) {
      await change(parts, id, (record) => ({ ...record, askedAt: record.askedAt ?? new Date(now).toISOString() }));
      return client;
    }
  }
  const client = await register();
  await store(parts, server, issuer, { id, client });
  return client;
}

const isOfUse = ({ askedAt }: McpClientRecord, now: number): boolean =>
  askedAt === undefined || Date.parse(askedAt) + AUTHORIZATION_MS > now;

function hasExpired({ client_secret_expires_at: at }: OAuthClientInformationMixed, now: number): boolean {
  return typeof at === 'number' && at > 0 && at * 1000 <= now;
}

async function store(
  { mcpClients, envelope, store: records }: ClientParts,
  { id: serverId, tenant }: Server,
  issuer: string,
  { id, client }: { readonly id: string; readonly client: OAuthClientInformationMixed },
): Promise<void> {
  const now = Date.now();
  const record = {
    ...{ id, tenant, serverId, issuer, sealed: seal(envelope, { id, tenant }, client) },
    ...{ askedAt: new Date(now).toISOString(), deleteAt: new Date(now + CLIENT_MS).toISOString() },
  };
  await inWork(records, async (work) => {
    const before = await work.get(mcpClients, id);
    if (before === undefined) work.insert(mcpClients, record);
    else work.replace(mcpClients, before, record);
  });
}

/** Records that an authorization was completed with a registration. */
export function keepClient(parts: ClientParts, serverId: string, issuer: string, redirectUri: string): Promise<void> {
  return change(parts, clientId(serverId, issuer, redirectUri), ({ askedAt: _, ...record }) => record);
}

/** Deletes a registration that the authorization server no longer recognizes. */
export function forgetClient(parts: ClientParts, serverId: string, issuer: string, redirectUri: string): Promise<void> {
  return change(parts, clientId(serverId, issuer, redirectUri), () => undefined);
}

function change(
  { mcpClients, store: records }: ClientParts,
  id: string,
  make: (record: McpClientRecord) => McpClientRecord | undefined,
): Promise<void> {
  return inWork(records, async (work) => {
    const before = await work.get(mcpClients, id);
    if (before === undefined) return;
    const after = make(before);
    if (after === undefined) work.remove(mcpClients, before);
    else if (after.askedAt !== before.askedAt) work.replace(mcpClients, before, after);
  });
}
