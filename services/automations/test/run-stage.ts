import type { Caller } from '@commonplace/kit/auth';
import { AppError, NotFound, Unavailable } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import { inWork, type Store, type UnitOfWork } from '@commonplace/kit/store';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { enumName } from '@commonplace/platform/enums';
import type { Host, ServiceModule } from '@commonplace/platform/runtime';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import { RunStatus } from '@commonplace/proto/agents/v1/run.js';
import { WorkRun } from '@commonplace/proto/agents/v1/work_run_service.js';
import type { AutomationRun } from '@commonplace/proto/automations/v1/automation.js';
import { RunAutomationRequest } from '@commonplace/proto/automations/v1/automation_service.js';
import { WorkItem } from '@commonplace/proto/automations/v1/work_item.js';
import { Message } from '@commonplace/proto/messaging/v1/message.js';
import { Comment } from '@commonplace/proto/resources/v1/comment_service.js';
import { Content } from '@commonplace/proto/resources/v1/content_service.js';
import { Resource } from '@commonplace/proto/resources/v1/resource.js';
import { Tag } from '@commonplace/proto/resources/v1/tag.js';
import { SearchResponse } from '@commonplace/proto/search/v1/search_service.js';
import { OrgMembership, SharingTerms, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import {
  type AutomationRecord,
  automationCollection,
  type Definition,
  definitionCollection,
  definitionId,
  type StoredAction,
} from '../src/definitions/records.js';
import { type AutomationRunRecord, laneCollection, runCollection, stepCollection } from '../src/runs/records.js';
import { type RunRequest, startRun } from '../src/runs/start.js';
import { createAutomations } from '../src/service.js';

const ROLES = { admin: WorkspaceRole.ADMIN, editor: WorkspaceRole.EDITOR, viewer: WorkspaceRole.VIEWER } as const;
export const SCOPES = [
  ...['automation:read', 'automation:write', 'resource:read', 'resource:write', 'content:read', 'content:write'],
  ...['tag:write', 'comment:write', 'im:write', 'im:read', 'work_item:write', 'agent_run:write', 'search:read'],
];

/** An effect that a fake service has committed. */
export interface Effect {
  readonly what: string;
  readonly of: string;
  readonly caller: Caller;
}

/** A run of an agent that the fake agents service has started. */
export interface PlayedRun extends WorkRun {
  readonly chain: string[];
  readonly taints: number;
  readonly canceled?: boolean;
  readonly userId: string;
  readonly authorId?: string | undefined;
  readonly scopes: string[];
}

/** What a test does to the units and the calls of the service. */
export interface Faults {
  /**
   * Is called at each commit of a unit that changes runs, before it and after it, with the ids of their automations. It
   * may throw.
   */
  atCommit(automationIds: readonly string[], when: 'before' | 'after'): void;
  /** Is called when a call of a peer has been answered, before the service gets the answer. It may throw. */
  answered(method: string, request: unknown): void;
}

/** Opens the automations service with played services around it. */
export async function openRunStage(settings: NodeJS.ProcessEnv = {}) {
  Object.assign(process.env, settings);
  const [orgId, workspaceId] = [newId(), newId()];
  const members = new Map<string, keyof typeof ROLES>();
  const effects: Effect[] = [];
  const faults: Faults = { atCommit: () => {}, answered: () => {} };
  const agentRuns = new Map<string, PlayedRun>();
  const rows = new Map<string, Record<string, unknown>>();
  /** The people who see conversations, and from which message on. */
  const readers = new Map<string, number>();
  const state = {
    urlAllowlist: [] as string[],
    archived: false,
    hidden: false,
    ahead: 0,
    lost: false,
    denied: new Set<string>(),
  };
  const act = (context: CallContext, what: string, of: string) => {
    if (state.denied.has(what)) throw new AppError('PERMISSION_DENIED', 'insufficient_role', 'No.');
    // Opens a unit of work, so that the answer of the call is stored with it.
    void context.work;
    const { caller } = context;
    context.afterCommit(() => effects.push({ what, of, caller }));
  };
  let tokenFor: (caller: Caller) => Promise<string> = async () => '';

  const others = [
    fake(contracts.auth, {
      actAs: async ({ userId, orgId: org, scopes, workspaceIds, automation, chain, authorId }) => {
        if (state.lost) throw NotFound();
        const token = await tokenFor({
          ...{ userId, userName: 'Person', userEmail: 'p@example.com', tenant: { orgId: org || null } },
          credential: { type: 'internal', id: `act_${userId}`, scopes, workspaceIds },
          ...(automation !== undefined && { automation }),
          ...(authorId !== undefined && { authorId }),
          chain,
        });
        return { token, csrfToken: '', credentialId: '', expiresAt: new Date(Date.now() + 30_000).toISOString() };
      },
    }),
    fake(contracts.directory, {
      getUrlAllowlist: async ({ tenant }) => ({ entries: tenant === orgId ? state.urlAllowlist : [] }),
      getMemberships: async ({ userId }) => {
        const role = state.hidden ? undefined : members.get(userId);
        const place = { workspaceId, orgId, archived: state.archived };
        return {
          userId,
          orgs: role ? [OrgMembership.fromPartial({ orgId, role: OrgRole.MEMBER })] : [],
          groups: [],
          workspaces: role ? [WorkspaceMembership.fromPartial({ ...place, role: ROLES[role] })] : [],
        };
      },
      getSharingTerms: async (request) => {
        if (state.hidden) throw NotFound();
        return SharingTerms.fromPartial(request);
      },
    }),
    fake(contracts.resources, {
      createResource: async ({ name, type }, context) => {
        act(context, 'create_resource', name);
        return Resource.fromPartial({ id: newId(), name, type, version: 1 });
      },
      getResource: async ({ resourceId }) => {
        if (!rows.has(resourceId)) throw NotFound();
        return Resource.fromPartial({ id: resourceId, name: 'Table' });
      },
    }),
    fake(contracts.content, {
      getContent: async ({ resourceId, rowIds }) => {
        const found = rowIds.filter((id) => rows.has(id)).map((id) => ({ id, cells: rows.get(id) }));
        const columns = [{ id: 'c1', name: 'Status' }];
        return Content.fromPartial({
          ...{ resourceId, columns: Buffer.from(JSON.stringify(columns)), rows: Buffer.from(JSON.stringify(found)) },
        });
      },
      replaceContent: async ({ resourceId, mode, rows: given }, context) => {
        act(context, mode, given.length > 0 ? given.toString() : resourceId);
        return Content.fromPartial({ resourceId, version: 2, changed: true, rowCount: 1 });
      },
    }),
    fake(contracts.comments, {
      createComment: async ({ body }, context) => {
        act(context, 'comment', body);
        return Comment.fromPartial({ id: newId(), threadId: newId() });
      },
    }),
    fake(contracts.tags, {
      addResourceTags: async ({ name = '' }, context) => {
        act(context, 'add_tag', name);
        return { items: [Tag.fromPartial({ id: newId(), name })] };
      },
    }),
    fake(contracts.messages, {
      sendMessage: async ({ text = '' }, context) => {
        act(context, 'send_message', text);
        return Message.fromPartial({ id: newId(), seq: 7 });
      },
      listMessages: async ({ conversationId, afterSeq = 0 }) => ({
        items: [Message.fromPartial({ id: newId(), conversationId, seq: afterSeq + 1, text: 'private words' })],
        page: undefined,
      }),
    }),
    fake(contracts.conversationAccess, {
      checkMembers: async ({ pairs }) => ({
        standings: pairs.map(({ userId, conversationId }) => ({
          ...{ userId, conversationId, workspaceId, orgId },
          ...{ isActive: readers.has(userId), visibleFromSeq: readers.get(userId) ?? 0 },
        })),
      }),
    }),
    fake(contracts.search, { search: async () => SearchResponse.fromPartial({ page: { total: 0 } }) }),
    fake(contracts.workRuns, {
      startWorkRun: async ({ runId, agentId, chain, taintSources, userId, authorId, scopes }) => {
        const run = WorkRun.fromPartial({ id: runId, agentId, status: RunStatus.RUNNING });
        if (!agentRuns.has(runId))
          agentRuns.set(runId, { ...run, chain, taints: taintSources.length, userId, authorId, scopes });
        return { refusalCode: '', refusal: '' };
      },
      findWorkRuns: async ({ runIds }) => ({ items: runIds.flatMap((id) => agentRuns.get(id) ?? []) }),
      cancelWorkRun: async ({ runId }) => {
        const run = agentRuns.get(runId);
        if (run !== undefined) agentRuns.set(runId, { ...run, canceled: true, status: RunStatus.CANCELED });
        return {};
      },
    }),
  ];
  const workItems = fake(contracts.workItems, {
    createWorkItem: async ({ title }, context) => {
      act(context, 'create_work_item', title);
      return WorkItem.fromPartial({ id: newId(), number: 1, title, version: 1 });
    },
  });
  const inner = createAutomations(() => Date.now() + state.ahead);
  const module: ServiceModule = {
    ...inner,
    async start(host) {
      const started = await inner.start(faulty(host, faults));
      const own = started.implementations.flatMap((one) => {
        if (one.contract.name === contracts.workItems.name) return [];
        return one.contract.name === contracts.automations.name
          ? fake(contracts.automations, one.handlers as object)
          : one;
      });
      return { ...started, implementations: [...own, workItems] };
    },
  };
  const stage = await openStage(module, others);
  tokenFor = async (caller) => (await stage.as(caller)).metadata.token ?? '';
  const { store } = stage.own;
  const records = {
    automations: await store.collection(automationCollection),
    definitions: await store.collection(definitionCollection),
    runs: await store.collection(runCollection),
    steps: await store.collection(stepCollection),
    lanes: await store.collection(laneCollection),
  };
  const client = stage.host.client(contracts.automations);
  const events: { type: string; subject: string; data: Record<string, unknown>; chain?: readonly string[] }[] = [];
  await stage.host.bus.watch(['commonplace.automations.>'], (event) => events.push(event as never));
  const person = (name: string, role: keyof typeof ROLES = 'editor'): Caller => {
    const caller = personCalled(name, SCOPES);
    members.set(caller.userId, role);
    return caller;
  };
  const owner = person('Owner');
  async function create(actions: readonly Partial<StoredAction>[], more: Partial<Definition> = {}, active = true) {
    const id = newId();
    const at = new Date().toISOString();
    const full = actions.map((action, i) => ({ id: `a${i}`, config: {}, onError: 'stop', ...action }) as StoredAction);
    const { userId, userName, credential } = owner;
    const definition: Definition = {
      ...{ trigger: { type: 'manual' }, conditions: [], actions: full, runAs: 'creator', concurrency: 'queue' },
      ...{ retry: { maxAttempts: 2, backoffSeconds: 1 }, timeoutSeconds: 600 },
      actsAs: { userId, userName, credentialId: credential.id, scopes: SCOPES },
      ...more,
    };
    const work = store.begin();
    const automation = work.insert(records.automations, {
      ...{ id, tenant: orgId, orgId, workspaceId, name: 'Automation', nameFold: 'automation' },
      ...{ description: '', isActive: active },
      ...{ definitionVersion: 1, definition, triggerType: definition.trigger.type, secrets: [], words: '' },
      ...{ createdBy: { type: 'user', id: userId, name: userName }, creatorId: userId, createdAt: at, updatedAt: at },
    } as Omit<AutomationRecord, 'version'>);
    work.insert(records.definitions, { id: definitionId(id, 1), tenant: orgId, automationId: id, definition });
    await work.commit();
    return automation;
  }

  const stageActions = {
    async start(by: Caller, automationId: string, more: object = {}): Promise<AutomationRun> {
      return client.runAutomation(RunAutomationRequest.fromPartial({ automationId, ...more }), await stage.as(by));
    },
    async run(by: Caller, { automationId, id }: Pick<AutomationRun, 'automationId' | 'id'>) {
      return client.getAutomationRun({ automationId, runId: id }, await stage.as(by));
    },
    /** Waits until a run has one of some statuses. */
    until: (by: Caller, run: Pick<AutomationRun, 'automationId' | 'id'>, ...statuses: string[]) =>
      eventually(async () => {
        const found = await stageActions.run(by, run);
        const status = enumName(found.status, 'AUTOMATION_RUN_STATUS');
        if (!statuses.includes(status)) {
          throw new Error(
            `the run is ${status}: ${found.error?.message} ${JSON.stringify(found.steps.map((s) => s.error))}`,
          );
        }
        return found;
      }, 30_000),
    /** Starts a run as triggers do. */
    trigger: (automation: AutomationRecord, request: Partial<RunRequest> = {}) =>
      inWork(store, (work) => {
        const whole = {
          ...{
            id: newId(),
            trigger: { type: 'event', by: { type: 'user', id: owner.userId, name: 'Owner' } } as const,
          },
          ...{ input: {}, ...request },
        };
        const parts = { ...records, settings: { automationQueue: 3, automationRunDays: 30 } };
        return startRun(parts, automation, whole, work, Date.now() + state.ahead);
      }),
    async change(automation: Pick<AutomationRecord, 'id'>, changes: Partial<AutomationRecord>) {
      await inWork(store, async (work) => {
        const before = await work.get(records.automations, automation.id);
        if (before !== undefined) work.replace(records.automations, before, { ...before, ...changes });
      });
    },
    finishAgent(id: string, status: RunStatus, text = 'The answer.') {
      const run = agentRuns.get(id);
      if (run === undefined) throw new Error('there is no such run');
      agentRuns.set(id, {
        ...run,
        status,
        output: { text, resourceIds: [], data: Buffer.alloc(0), citations: [], degraded: false, truncated: false },
      });
    },
  };
  return {
    ...{
      stage,
      client,
      orgId,
      workspaceId,
      members,
      effects,
      faults,
      agentRuns,
      rows,
      readers,
      state,
      records,
      events,
      owner,
    },
    ...{ person, create, ...stageActions },
    close: () => stage.close(),
  };
}

export type RunStage = Awaited<ReturnType<typeof openRunStage>>;

/** Lets a test break commits and answers. */
function faulty(host: Host, faults: Faults): Host {
  const store: Store = new Proxy(host.store, {
    get: (target, name) =>
      name === 'begin'
        ? () => faultyUnit(target.begin(), faults)
        : typeof target[name as keyof Store] === 'function'
          ? (target[name as keyof Store] as (...args: unknown[]) => unknown).bind(target)
          : target[name as keyof Store],
  });
  const client: Host['client'] = (contract) => {
    const real = host.client(contract) as Record<string, (...args: unknown[]) => Promise<unknown>>;
    return new Proxy(real, {
      get: (target, name: string) => async (request: unknown, options: unknown) => {
        const answer = await target[name]?.(request, options);
        faults.answered(name, request);
        return answer;
      },
    }) as never as Client<never>;
  };
  return new Proxy(host, {
    get: (target, name) => (name === 'store' ? store : name === 'client' ? client : target[name as keyof Host]),
  });
}

function faultyUnit(work: UnitOfWork, faults: Faults): UnitOfWork {
  const ids = new Set<string>();
  const { replace, commit } = work;
  work.replace = (into, before, after) => {
    const { name } = (into as { spec: { name: string } }).spec;
    if (name === runCollection.name) ids.add((before as unknown as AutomationRunRecord).automationId);
    return replace.call(work, into as never, before as never, after as never) as never;
  };
  work.commit = async () => {
    faults.atCommit([...ids], 'before');
    await commit.call(work);
    faults.atCommit([...ids], 'after');
  };
  return work;
}

/** Throws like a process whose answer is lost. */
export const lostAnswer = (): never => {
  throw Unavailable();
};
