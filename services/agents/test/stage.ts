import type { Caller } from '@commonplace/kit/auth';
import { AppError, NotFound } from '@commonplace/kit/errors';
import { createEvent, systemActor } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { foldName } from '@commonplace/kit/words';
import { contracts } from '@commonplace/platform/contracts';
import { enumName } from '@commonplace/platform/enums';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import { DecideApprovalRequest, ListApprovalsRequest } from '@commonplace/proto/agents/v1/approval_service.js';
import { CreateRunRequest, GetRunRequest, RunInclude } from '@commonplace/proto/agents/v1/run_service.js';
import { WorkItem } from '@commonplace/proto/automations/v1/work_item.js';
import type { ActAsRequest } from '@commonplace/proto/identity/v1/auth_service.js';
import { User } from '@commonplace/proto/identity/v1/user.js';
import {
  type GetAudienceResponse,
  MemberStanding,
  type PostAgentMessageRequest,
} from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { SearchResponse } from '@commonplace/proto/search/v1/search_service.js';
import { CreditReservation } from '@commonplace/proto/tenancy/v1/credit_service.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { PrincipalType, WorkspaceMember } from '@commonplace/proto/tenancy/v1/workspace.js';
import { PROVIDERS } from '../src/engine/tools/table.js';
import { InvalidArguments, NO_PREVIEW, type Tool, type ToolPlan, type ToolResult } from '../src/engine/tools/tool.js';
import { agents } from '../src/service.js';
import {
  type AgentRecord,
  agentCollection,
  agentVersionCollection,
  agentVersionId,
  DEFAULT_POLICY,
} from '../src/stores/agents.js';
import { approvalCollection } from '../src/stores/approvals.js';
import { runCollection, stepCollection } from '../src/stores/runs.js';
import { messageCollection, sessionCollection } from '../src/stores/sessions.js';

/** A call that a fake tool has received. */
export interface PlayedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly key: string;
  readonly answer: unknown;
  readonly state: string | undefined;
}

export interface PlayedTool {
  readonly plan?: Partial<ToolPlan>;
  readonly group?: string;
  /** What a call does; it returns a text by default. */
  act?(call: PlayedCall): Promise<Partial<ToolResult>> | Partial<ToolResult>;
}

const MODEL = { id: 'scripted', context_tokens: 8000, max_output_tokens: 500 };
const RATES = { credit_rates: { input_per_1k: '1', output_per_1k: '1' } };
const ROLES = {
  admin: WorkspaceRole.ADMIN,
  editor: WorkspaceRole.EDITOR,
  viewer: WorkspaceRole.VIEWER,
  guest: WorkspaceRole.GUEST,
} as const;

/** Opens the agents service with a scripted model, tools that tests play, and fakes of the other services. */
export async function openAgentStage(settings: NodeJS.ProcessEnv = {}) {
  const model: ChatServer = await openChatServer();
  Object.assign(process.env, {
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: JSON.stringify([{ ...MODEL, ...RATES }]),
    ...settings,
  });
  const orgId = newId();
  const workspaceId = newId();
  const members = new Map<string, keyof typeof ROLES>();
  const orgPeople = new Set<string>();
  const names = new Map<string, string>();
  const guests = new Set<string>();
  /** People whose account is disabled. */
  const disabled = new Set<string>();
  const org: Partial<OrgMembership> = {};
  const credits = {
    available: Number.POSITIVE_INFINITY,
    reserved: new Map<string, number>(),
    /** Is called after each reservation. */
    onReserved: async () => {},
  };
  const tools = new Map<string, PlayedTool>();
  const calls: PlayedCall[] = [];
  let onPosted = async (_times: number): Promise<void> => {};
  let actsFor = (_userId: string): boolean => true;

  const directory = fake(contracts.directory, {
    getUrlAllowlist: async () => ({ entries: [] }),
    getMemberships: async ({ userId }) => {
      const role = members.get(userId);
      const isMember = role !== undefined;
      const isGuest = guests.has(userId);
      const own = { orgId, name: 'Org', role: isGuest ? OrgRole.GUEST : OrgRole.MEMBER, ...org };
      return {
        userId,
        orgs: isMember || isGuest || orgPeople.has(userId) ? [OrgMembership.fromPartial(own)] : [],
        groups: [],
        workspaces: isMember ? [WorkspaceMembership.fromPartial({ workspaceId, orgId, role: ROLES[role] })] : [],
      };
    },
    listOrgAdmins: async () => ({ userIds: org.orgId === '' ? [] : [newId()] }),
    listPeople: async ({ role }) => ({
      items: [...members]
        .filter(([, one]) => ROLES[one] === role)
        .map(([id]) => WorkspaceMember.fromPartial({ principal: { type: PrincipalType.USER, id } })),
      page: undefined,
    }),
  });
  const keyOf = (key: unknown) => JSON.stringify(key);
  const noCredits = (needed: string) => {
    const details = { available: '0', needed, reserved: '0' };
    return new AppError('ABORTED', 'insufficient_credits', 'There are not enough credits.', { details });
  };
  const metering = fake(contracts.metering, {
    reserveCredits: async ({ key, amount }) => {
      const left = credits.available - [...credits.reserved.values()].reduce((sum, one) => sum + one, 0);
      if (Number(amount) > left) throw noCredits(amount);
      credits.reserved.set(keyOf(key), Number(amount));
      await credits.onReserved();
      return CreditReservation.fromPartial({});
    },
    checkCredits: async ({ amount }) => {
      if (Number(amount) > credits.available) throw noCredits(amount);
      return {};
    },
    renewReservations: async () => ({ reservations: [] }),
    releaseReservation: async ({ key }) => ({ released: credits.reserved.delete(keyOf(key)) }),
    settleUsage: async ({ key, credits: amount }) => {
      credits.reserved.delete(keyOf(key));
      return { credits: amount, overage: '0', charged: true };
    },
  });
  const acted: ActAsRequest[] = [];
  const auth = fake(contracts.auth, {
    findUsers: async ({ ids, activeOnly }) => ({
      users: ids
        .filter((id) => !(activeOnly && disabled.has(id)))
        .map((id) => User.fromPartial({ id, name: names.get(id) ?? '' })),
    }),
    actAs: async (request) => {
      acted.push(request);
      if (!actsFor(request.userId)) throw new AppError('PERMISSION_DENIED', 'insufficient_role', 'No access.');
      const { metadata } = await stage.as({ ...personCalled('', request.scopes), userId: request.userId });
      return {
        csrfToken: '',
        credentialId: '',
        token: metadata.token ?? '',
        expiresAt: new Date(Date.now() + 30_000).toISOString(),
      };
    },
  });
  const search = fake(contracts.search, { search: async () => SearchResponse.fromPartial({}) });
  const readable = new Set<string>();
  const index = fake(contracts.index, {
    checkAccess: async ({ ids }) => ({
      resources: ids.filter((id) => readable.has(id)).map((id) => AccessibleResource.fromPartial({ id, workspaceId })),
    }),
  });
  const posted: PostAgentMessageRequest[] = [];
  const talks = new Set<string>();
  const audiences = new Map<string, GetAudienceResponse>();
  const conversations = fake(contracts.conversationAccess, {
    getAudience: async ({ conversationId }) => {
      const audience = audiences.get(conversationId);
      if (audience === undefined) throw NotFound();
      return audience;
    },
    checkMembers: async ({ pairs }) => ({
      standings: pairs.map(({ userId, conversationId }) =>
        MemberStanding.fromPartial({ userId, conversationId, isActive: talks.has(`${userId}:${conversationId}`) }),
      ),
    }),
    postAgentMessage: async (request) => {
      posted.push(request);
      await onPosted(posted.length);
      return { messageId: newId(), seq: 1, created: true };
    },
  });
  const readableWork = new Set<string>();
  const workItems = fake(contracts.workItems, {
    getWorkItem: async ({ workItemId }) => {
      if (!readableWork.has(workItemId)) throw NotFound();
      return WorkItem.fromPartial({ id: workItemId });
    },
  });
  const provided = () => [...tools].map(([name, tool]) => playedTool(name, tool, calls));
  PROVIDERS.push(provided);
  const stage = await openStage(agents, [directory, metering, auth, search, index, conversations, workItems]);
  const { store } = stage.own;
  const records = {
    agents: await store.collection(agentCollection),
    versions: await store.collection(agentVersionCollection),
    approvals: await store.collection(approvalCollection),
    runs: await store.collection(runCollection),
    sessions: await store.collection(sessionCollection),
    messages: await store.collection(messageCollection),
    steps: await store.collection(stepCollection),
  };
  const clients = {
    runs: stage.host.client(contracts.runs),
    approvals: stage.host.client(contracts.approvals),
    sessions: stage.host.client(contracts.chatSessions),
    conversationRuns: stage.host.client(contracts.conversationRuns),
    workRuns: stage.host.client(contracts.workRuns),
    agents: stage.host.client(contracts.agents),
    skills: stage.host.client(contracts.skills),
    mcpServers: stage.host.client(contracts.mcpServers),
    memories: stage.host.client(contracts.memories),
  };
  const person = (name: string, role: keyof typeof ROLES = 'editor'): Caller => {
    const caller = personCalled(name, SCOPES);
    members.set(caller.userId, role);
    names.set(caller.userId, name);
    return caller;
  };
  /** Returns a guest of the Org, who belongs to no workspace. */
  const orgGuest = (name: string): Caller => {
    const caller = personCalled(name, SCOPES);
    guests.add(caller.userId);
    return caller;
  };
  const owner = person('Owner');

  async function createAgent(more: Partial<AgentRecord> = {}): Promise<AgentRecord> {
    const now = new Date().toISOString();
    const prompt = { instructions: 'Help.', tools: [], skills: [] };
    const id = newId();
    const record = {
      ...{ id, version: 1, tenant: orgId, orgId, ownerId: owner.userId, ownerName: 'Owner', name: 'Helper' },
      ...{
        nameFold: foldName(more.name ?? 'Helper'),
        description: '',
        visibility: 'org',
        status: 'active',
        policy: DEFAULT_POLICY,
        memoryMode: 'off',
      },
      ...{ autoRun: false, onUnknown: 'ask', places: [{ workspaceId, role: 'editor' }], workspaceIds: [workspaceId] },
      ...{ mcpServerCount: 0, promptVersion: 1, words: 'helper', createdAt: now, updatedAt: now },
      ...{ ...prompt, ...more },
    } as unknown as AgentRecord;
    const work = store.begin();
    work.insert(records.agents, record);
    work.insert(records.versions, {
      ...{ id: agentVersionId(id, 1), tenant: orgId, agentId: id, number: 1, ...prompt, tools: record.tools },
      ...{ changedBy: { id: owner.userId, name: 'Owner' }, changedAt: now, changedFields: [] },
    });
    await work.commit();
    return record;
  }

  const actions = {
    async start(by: Caller, agent: AgentRecord, more: object = {}) {
      const request = CreateRunRequest.fromPartial({
        ...{ agentId: agent.id, workspaceId, input: Buffer.from(JSON.stringify('Do it.')) },
        ...more,
      });
      return clients.runs.createRun(request, await stage.as(by));
    },
    async run(by: Caller, runId: string) {
      const request = GetRunRequest.fromPartial({ runId, include: [RunInclude.STEPS] });
      return clients.runs.getRun(request, await stage.as(by));
    },
    /** Waits until a run has a status. */
    async until(by: Caller, runId: string, ...statuses: string[]) {
      return eventually(async () => {
        const run = await actions.run(by, runId);
        const status = enumName(run.status, 'RUN_STATUS');
        if (!statuses.includes(status)) throw new Error(`the run is ${status}: ${run.error?.message}`);
        return run;
      }, 20_000);
    },
    async approvals(by: Caller, more: object = {}) {
      return (await clients.approvals.listApprovals(ListApprovalsRequest.fromPartial(more), await stage.as(by))).items;
    },
    async decide(by: Caller, approvalId: string, more: Record<string, unknown> = { decision: 'approve' }) {
      const bytes = Object.fromEntries(
        Object.entries(more).map(([key, value]) =>
          key === 'editedInput' || key === 'answer' ? [key, Buffer.from(JSON.stringify(value))] : [key, value],
        ),
      );
      const request = DecideApprovalRequest.fromPartial({ approvalId, ...bytes });
      return clients.approvals.decideApproval(request, await stage.as(by));
    },
    /** Publishes an event of the tenancy service, or of another one. */
    async publish(type: string, data: object, service = 'tenancy') {
      const about = { service, type, subject: newId(), tenant: orgId, actor: systemActor(service) };
      await stage.host.bus.publish([createEvent({ ...about, data })]);
    },
    /** Changes an agent's record. */
    async change(agent: AgentRecord, changes: Partial<AgentRecord>) {
      const work = store.begin();
      const before = await work.get(records.agents, agent.id);
      if (before !== undefined) work.replace(records.agents, before, { ...before, ...changes });
      await work.commit();
    },
  };
  return {
    ...{
      stage,
      model,
      orgId,
      workspaceId,
      ...{ members, disabled },
      org,
      credits,
      tools,
      calls,
      records,
      clients,
      owner,
      person,
      orgGuest,
    },
    ...{ createAgent, posted, acted, ...actions },
    /** People of the Org who are in no workspace. */
    orgPeople,
    /** Resources that everybody may read. */
    readable,
    /** Work items that everybody may read. */
    readableWork,
    /** Members of conversations: `<person>:<conversation>`. */
    talks,
    /** Readers of conversations besides the people of their runs. */
    audiences,
    /** Sets a function that is called with the number of posts so far when a run has posted into a conversation. */
    whenPosted: (act: typeof onPosted) => {
      onPosted = act;
    },
    letAct: (mayAct: typeof actsFor) => {
      actsFor = mayAct;
    },
    async close() {
      PROVIDERS.splice(PROVIDERS.indexOf(provided), 1);
      await stage.close();
      await model.close();
    },
  };
}

export type AgentStage = Awaited<ReturnType<typeof openAgentStage>>;

const SCOPES = [
  ...['search:read', 'resource:read', 'content:read', 'agent_run:read', 'agent_run:write', 'chat_session:read'],
  ...['chat_session:write', 'agent_approval:read', 'agent_approval:write', 'agent:read', 'memory:read'],
];

function playedTool(name: string, { plan, group, act = () => ({}) }: PlayedTool, calls: PlayedCall[]): Tool {
  return {
    group,
    schema: {
      name,
      description: `The tool ${name}.`,
      parameters: { type: 'object', properties: { what: { type: 'string', maxLength: 20 } }, required: ['what'] },
    },
    async plan({ what }) {
      if (typeof what !== 'string') throw new InvalidArguments('what must be a text.');
      return {
        ...{ action: 'write', effect: 'idempotent', risk: 'low', isSink: false, title: `${name} ${what}` },
        ...{ preview: { ...NO_PREVIEW, text: `It does ${what}.` }, toolHash: `hash of ${name}`, ...plan },
      };
    },
    async call(args, { toolCallId, answer, state }) {
      const call = { tool: name, args, key: toolCallId, answer, state };
      calls.push(call);
      return { text: `${name} did ${args.what}`, found: [], ...(await act(call)) };
    },
  };
}
