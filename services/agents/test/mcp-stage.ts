import { newId } from '@commonplace/kit/id';
import { createEnvelope } from '@commonplace/kit/secrets';
import { inWork } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { McpParts } from '../src/mcp/parts.js';
import { openProbeQueue } from '../src/mcp/probe.js';
import { openSchemaChecks } from '../src/schemas/index.js';
import { agents } from '../src/service.js';
import { type AgentRecord, agentCollection, DEFAULT_POLICY } from '../src/stores/agents.js';
import {
  type McpServerRecord,
  mcpAuthorizationCollection,
  mcpClientCollection,
  mcpGrantCollection,
  mcpServerCollection,
} from '../src/stores/mcp-servers.js';
import { testMcpGuard } from './mcp-guard.js';
import { settingsOf } from './settings.js';

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

/** Opens the agents service with an agent, whose MCP servers may be on loopback. */
export async function openMcpStage(env: NodeJS.ProcessEnv = {}) {
  const given = { COMMONPLACE_URL_ALLOWLIST: '127.0.0.1', COMMONPLACE_SECRETS_KEY: SECRETS_KEY, ...env };
  const before = Object.fromEntries(Object.keys(given).map((name) => [name, process.env[name]]));
  Object.assign(process.env, given);
  const orgId = newId();
  const workspaceId = newId();
  /** The `url_allowlist` of the Org. */
  const urlAllowlist: string[] = [];
  const directory = fake(contracts.directory, {
    getUrlAllowlist: async ({ tenant }) => ({ entries: tenant === orgId ? [...urlAllowlist] : [] }),
    getMemberships: async ({ userId }) => ({
      userId,
      orgs: [OrgMembership.fromPartial({ orgId, role: OrgRole.MEMBER, name: 'Org' })],
      groups: [],
      workspaces: [WorkspaceMembership.fromPartial({ workspaceId, orgId, role: WorkspaceRole.EDITOR, name: 'W' })],
    }),
  });
  const stage = await openStage(agents, [directory]);
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  const settings = settingsOf(given);
  const { store, log } = stage.own;
  const parts: McpParts = {
    ...{ store, log, settings },
    agents: await store.collection(agentCollection),
    mcpServers: await store.collection(mcpServerCollection),
    mcpGrants: await store.collection(mcpGrantCollection),
    mcpAuthorizations: await store.collection(mcpAuthorizationCollection),
    mcpClients: await store.collection(mcpClientCollection),
    mcpGuard: await testMcpGuard(settings),
    envelope: createEnvelope(settings.secretsKey),
    schemas: openSchemaChecks(),
  };
  const owner = personCalled('Owner');
  const agent = await inWork(store, async (work) =>
    work.insert(parts.agents, agentOf(owner.userId, orgId, workspaceId)),
  );
  const probes = await openProbeQueue(parts);
  return {
    ...{ stage, parts, owner, agent, orgId, workspaceId, urlAllowlist },
    client: stage.host.client(contracts.mcpServers),
    stranger: personCalled('Other'),
    as: stage.as,
    /** Returns a server as it is stored. */
    async stored(id: string): Promise<McpServerRecord> {
      const server = await parts.mcpServers.get(id);
      if (server === undefined) throw new Error(`there is no server ${id}`);
      return server;
    },
    /** Calls a server to list its tools, whether the service would do so by itself or not. */
    async probe(id: string): Promise<McpServerRecord> {
      const until = Date.now() + 20_000;
      for (;;) {
        const server = await this.stored(id);
        if (server.probeAt === undefined || (server.lease?.holder === '' && server.failureCount > 0)) return server;
        if (Date.now() > until) throw new Error(`server ${id} is still to be called`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    probes,
    async close() {
      await probes.close();
      await parts.mcpGuard.close();
      await parts.schemas.close();
      await stage.close();
    },
  };
}

export type McpStage = Awaited<ReturnType<typeof openMcpStage>>;

function agentOf(ownerId: string, orgId: string, workspaceId: string): Omit<AgentRecord, 'version'> {
  const now = new Date().toISOString();
  return {
    ...{ id: newId(), tenant: orgId, orgId, ownerId, ownerName: 'Owner', name: 'Helper', description: '' },
    ...{ visibility: 'org', status: 'active', policy: DEFAULT_POLICY, memoryMode: 'off', autoRun: false },
    ...{ onUnknown: 'ask', places: [{ workspaceId, role: 'editor' }], workspaceIds: [workspaceId] },
    ...{
      promptVersion: 1,
      nameFold: 'helper',
      words: 'helper',
      mcpServerCount: 0,
      createdAt: now,
      updatedAt: now,
      instructions: '',
      tools: [],
      skills: [],
    },
  } as Omit<AgentRecord, 'version'>;
}
