import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { CallMetadata, Client, Reply } from '@commonplace/kit/rpc';
import { inWork } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled, type Stage } from '@commonplace/platform/testing';
import {
  CreateAgentMemoryRequest,
  CreateMemoryRequest,
  DeleteAgentMemoriesRequest,
  ListAgentMemoriesRequest,
  ListMemoriesRequest,
  type MemoryService,
  UpdateMemoryRequest,
} from '@commonplace/proto/agents/v1/memory_service.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { agents } from '../src/service.js';
import { type AgentRecord, agentCollection, DEFAULT_POLICY } from '../src/stores/agents.js';
import { memoryCollection } from '../src/stores/memories.js';

/** The agents service with fake tenancy and resources: one Org with a workspace, and people by role. */
export async function openMemoryStage() {
  const orgId = newId();
  const workspaceId = newId();
  const people = new Map<string, { orgs: OrgMembership[]; workspaces: WorkspaceMembership[] }>();
  /** `<person>:<resource>` of what people may read. */
  const readable = new Set<string>();
  let archived = false;
  const directory = fake(contracts.directory, {
    getMemberships: async ({ userId }) => {
      const { orgs = [], workspaces = [] } = people.get(userId) ?? {};
      return { userId, orgs, groups: [], workspaces: workspaces.map((one) => ({ ...one, archived })) };
    },
  });
  const index = fake(contracts.index, {
    checkAccess: async ({ ids }, { caller }) => ({
      resources: ids
        .filter((id) => readable.has(`${caller.userId}:${id}`))
        .map((id) => AccessibleResource.fromPartial({ id, name: 'Resource' })),
    }),
  });
  const stage: Stage = await openStage(agents, [directory, index]);
  const client: Client<MemoryService> = stage.host.client(contracts.memories);
  const agentRecords = await stage.own.store.collection(agentCollection);
  const memories = await stage.own.store.collection(memoryCollection);
  const as = (caller: Caller, metadata: Partial<CallMetadata> = {}, reply: Reply = {}) =>
    stage.as(caller, metadata, reply);

  return {
    ...{ stage, orgId, workspaceId, memories, agentRecords, client, as },
    /** Creates a person with a role in the workspace, and one in its Org. */
    person(name: string, role: WorkspaceRole | undefined, orgRole = OrgRole.MEMBER): Caller {
      const caller = personCalled(name, ['memory:read', 'memory:write', 'agent:read', 'agent:write']);
      const place = { workspaceId, orgId, name: 'Team', role: role ?? WorkspaceRole.UNSPECIFIED };
      people.set(caller.userId, {
        orgs:
          orgRole === OrgRole.UNSPECIFIED ? [] : [OrgMembership.fromPartial({ orgId, name: 'Acme', role: orgRole })],
        workspaces: role === undefined ? [] : [WorkspaceMembership.fromPartial(place)],
      });
      return caller;
    },
    /** Gives a person a role in so many further workspaces. */
    join(caller: Caller, count: number): void {
      const role = WorkspaceRole.VIEWER;
      const places = Array.from({ length: count }, () =>
        WorkspaceMembership.fromPartial({ workspaceId: newId(), orgId, role }),
      );
      people.get(caller.userId)?.workspaces.push(...places);
    },
    leave: (caller: Caller) => void people.delete(caller.userId),
    archive: (is: boolean) => {
      archived = is;
    },
    allow: (caller: Caller, id: string) => void readable.add(`${caller.userId}:${id}`),
    forbid: (caller: Caller, id: string) => void readable.delete(`${caller.userId}:${id}`),
    async agent(owner: Caller, more: Partial<AgentRecord> = {}): Promise<AgentRecord> {
      const now = new Date().toISOString();
      return inWork(stage.own.store, async (work) =>
        work.insert(agentRecords, {
          ...{ id: newId(), tenant: orgId, orgId, ownerId: owner.userId, ownerName: owner.userName, name: 'Helper' },
          ...{ description: '', instructions: '', tools: ['memory'], skills: [], visibility: 'org', status: 'active' },
          ...{ policy: DEFAULT_POLICY, memoryMode: 'read_write', autoRun: false, onUnknown: 'ask', mcpServerCount: 0 },
          ...{ places: [{ workspaceId, role: 'editor' }], workspaceIds: [workspaceId], createdAt: now, updatedAt: now },
          ...{ promptVersion: 1, nameFold: 'helper', words: 'helper' },
          ...more,
        }),
      );
    },
    create: async (caller: Caller, fields: Partial<CreateMemoryRequest>, reply: Reply = {}) =>
      client.createMemory(
        CreateMemoryRequest.fromPartial({ content: 'A fact.', ...fields }),
        await as(caller, {}, reply),
      ),
    createOf: async (caller: Caller, fields: Partial<CreateAgentMemoryRequest>) =>
      client.createAgentMemory(
        CreateAgentMemoryRequest.fromPartial({ content: 'A fact.', ...fields }),
        await as(caller),
      ),
    get: async (caller: Caller, memoryId: string) => client.getMemory({ memoryId }, await as(caller)),
    list: async (caller: Caller, fields: Partial<ListMemoriesRequest> = {}) =>
      client.listMemories(ListMemoriesRequest.fromPartial(fields), await as(caller)),
    listOf: async (caller: Caller, agentId: string, fields: Partial<ListAgentMemoriesRequest> = {}) =>
      client.listAgentMemories(ListAgentMemoriesRequest.fromPartial({ agentId, ...fields }), await as(caller)),
    update: async (caller: Caller, memoryId: string, fields: Partial<UpdateMemoryRequest>, baseVersion?: number) =>
      client.updateMemory(
        UpdateMemoryRequest.fromPartial({ memoryId, updateMask: Object.keys(fields).map(snake), ...fields }),
        await as(caller, baseVersion === undefined ? {} : { baseVersion }),
      ),
    remove: async (caller: Caller, memoryId: string) => client.deleteMemory({ memoryId }, await as(caller)),
    removeOf: async (caller: Caller, agentId: string, fields: Partial<DeleteAgentMemoriesRequest>) =>
      client.deleteAgentMemories(DeleteAgentMemoriesRequest.fromPartial({ agentId, ...fields }), await as(caller)),
  };
}

export type MemoryStage = Awaited<ReturnType<typeof openMemoryStage>>;

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
