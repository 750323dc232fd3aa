import type { Caller } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import type { CallMetadata, Reply } from '@commonplace/kit/rpc';
import { openCollections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import type { AgentEntry } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import { RunStatus } from '@commonplace/proto/agents/v1/run.js';
import type { StartWorkRunRequest } from '@commonplace/proto/agents/v1/work_run_service.js';
import { WorkRun } from '@commonplace/proto/agents/v1/work_run_service.js';
import {
  CreateWorkItemRequest,
  GetWorkItemRequest,
  ListWorkItemsRequest,
  UpdateWorkItemRequest,
  WorkItemInclude,
} from '@commonplace/proto/automations/v1/work_item_service.js';
import { User } from '@commonplace/proto/identity/v1/user.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { createAutomations } from '../src/service.js';
import { WORK_ITEM_RECORDS } from '../src/work-items/parts.js';

const SCOPES = ['work_item:read', 'work_item:write'];
const { CHILDREN, RUNS, ACTIVITY } = WorkItemInclude;

/** A workspace in an Org, or a Personal one. */
export interface Place {
  readonly workspaceId: string;
  readonly orgId: string;
}

/** Opens the automations service for work items, with fakes of the other services. `settings` are variables. */
export async function openWorkItemStage(settings: NodeJS.ProcessEnv = {}) {
  const outside = { ...process.env };
  Object.assign(process.env, settings);
  const people = new Map<string, Caller>();
  const workspaces = new Map<string, Map<string, WorkspaceMembership>>();
  const readable = new Map<string, string>();
  const agents = new Map<string, AgentEntry>();
  const started: StartWorkRunRequest[] = [];
  const statuses = new Map<string, RunStatus>();
  let onStart = async (_request: StartWorkRunRequest): Promise<string> => '';
  const of = (userId: string) => {
    const found = workspaces.get(userId) ?? new Map<string, WorkspaceMembership>();
    workspaces.set(userId, found);
    return found;
  };
  const orgsOf = (userId: string) => [...new Set([...of(userId).values()].map(({ orgId }) => orgId))];
  const stage = await openStage(createAutomations(), [
    fake(contracts.directory, {
      getMemberships: async ({ userId }) => ({
        userId,
        orgs: orgsOf(userId).map((orgId) => OrgMembership.fromPartial({ orgId, role: OrgRole.MEMBER })),
        groups: [],
        workspaces: [...of(userId).values()],
      }),
    }),
    fake(contracts.agentDirectory, {
      lookUpAgents: async ({ agentIds }) => ({ items: agentIds.flatMap((id) => agents.get(id) ?? []) }),
    }),
    fake(contracts.workRuns, {
      // As in the real service, a second call with the same id starts no other run.
      startWorkRun: async (request) => {
        const refusalCode = await onStart(request);
        if (refusalCode === '' && !started.some(({ runId }) => runId === request.runId)) started.push(request);
        return { refusalCode, refusal: refusalCode };
      },
      findWorkRuns: async ({ runIds }) => ({
        items: started
          .filter(({ runId }) => runIds.includes(runId))
          .map(({ runId, agentId, userId }) =>
            WorkRun.fromPartial({
              ...{ id: runId, agentId, initiatorId: userId, createdAt: new Date().toISOString() },
              status: statuses.get(runId) ?? RunStatus.RUNNING,
            }),
          ),
      }),
    }),
    fake(contracts.index, {
      checkAccess: async ({ ids }, { caller }) => ({
        resources: ids.flatMap((id) => {
          const workspaceId = readable.get(`${caller.userId}:${id}`);
          return workspaceId === undefined ? [] : [AccessibleResource.fromPartial({ id, workspaceId })];
        }),
      }),
    }),
    fake(contracts.auth, {
      findUsers: async ({ ids }) => ({
        users: ids.flatMap((id) => {
          const one = people.get(id);
          return one === undefined ? [] : [User.fromPartial({ id, name: one.userName })];
        }),
      }),
    }),
  ]);
  for (const name of Object.keys(settings)) {
    if (outside[name] === undefined) delete process.env[name];
    else process.env[name] = outside[name];
  }
  const { host, own } = stage;
  const items = host.client(contracts.workItems);
  const events: DomainEvent[] = [];
  const subscription = await host.bus.watch(
    ['commonplace.automations.work_item.>'],
    (event) => void events.push(event),
  );
  const as = (caller: Caller, metadata: Partial<CallMetadata> = {}, reply: Reply = {}) =>
    stage.as(caller, metadata, reply);
  const page = (more: object = {}) => ({ limit: 50, offset: 0, cursor: '', ...more });

  return {
    ...{ stage, items, events, started, statuses, as },
    store: own.store,
    records: await openCollections(own.store, WORK_ITEM_RECORDS),
    person(name: string): Caller {
      const caller = personCalled(name, SCOPES);
      people.set(caller.userId, caller);
      return caller;
    },
    join({ userId }: Caller, { workspaceId, orgId }: Place, role: WorkspaceRole = WorkspaceRole.EDITOR): void {
      of(userId).set(workspaceId, WorkspaceMembership.fromPartial({ workspaceId, orgId, role, name: 'Workspace' }));
    },
    quit: ({ userId }: Caller, { workspaceId }: Place) => of(userId).delete(workspaceId),
    archive(workspaceId: string): void {
      for (const mine of workspaces.values()) {
        const found = mine.get(workspaceId);
        if (found !== undefined) mine.set(workspaceId, { ...found, archived: true });
      }
    },
    agent({ orgId }: Place, autoRun: boolean): AgentEntry {
      const entry = { id: newId(), name: 'Helper', orgId, ownerId: newId(), isActive: true, autoRun };
      agents.set(entry.id, entry);
      return entry;
    },
    show: ({ userId }: Caller, id: string, { workspaceId }: Place) => readable.set(`${userId}:${id}`, workspaceId),
    /** Sets how the fake agents service responds to a start: an error, a refusal code, or nothing. */
    whenStarting: (play: typeof onStart) => {
      onStart = play;
    },
    create: async (by: Caller, fields: object, metadata: Partial<CallMetadata> = {}) =>
      items.createWorkItem(CreateWorkItemRequest.fromPartial({ title: 'A task', ...fields }), await as(by, metadata)),
    get: async (by: Caller, workItemId: string) =>
      items.getWorkItem(
        GetWorkItemRequest.fromPartial({ workItemId, include: [CHILDREN, RUNS, ACTIVITY] }),
        await as(by),
      ),
    update: async (
      by: Caller,
      workItemId: string,
      updateMask: string[],
      fields: object,
      metadata: Partial<CallMetadata> = {},
    ) =>
      items.updateWorkItem(
        UpdateWorkItemRequest.fromPartial({ workItemId, updateMask, ...fields }),
        await as(by, metadata),
      ),
    remove: async (by: Caller, workItemId: string, deleteChildren = false) =>
      items.deleteWorkItem({ workItemId, deleteChildren }, await as(by)),
    list: async (by: Caller, fields: object = {}, pageFields: object = {}) =>
      items.listWorkItems(
        { ...ListWorkItemsRequest.fromPartial(fields), page: page(pageFields) } as ListWorkItemsRequest,
        await as(by),
      ),
    async close() {
      await subscription.close();
      await stage.close();
    },
  };
}

export type WorkItemStage = Awaited<ReturnType<typeof openWorkItemStage>>;

export const newPlace = (): Place => ({ workspaceId: newId(), orgId: newId() });

/** Returns the code of the error that a call rejects with; `none` if it resolves. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    if (error instanceof AppError) return error.reason;
    throw error;
  }
}
