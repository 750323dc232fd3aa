import type { Caller } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import { createEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { enumName } from '@commonplace/platform/enums';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import { RunStatus } from '@commonplace/proto/agents/v1/run.js';
import type { StartWorkRunRequest, StartWorkRunResponse } from '@commonplace/proto/agents/v1/work_run_service.js';
import { WorkRun } from '@commonplace/proto/agents/v1/work_run_service.js';
import {
  CreateScheduleRequest,
  ScheduleInclude,
  UpdateScheduleRequest,
} from '@commonplace/proto/automations/v1/schedule_service.js';
import { User } from '@commonplace/proto/identity/v1/user.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { OrgMembership, SharingTerms, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { Workspace } from '@commonplace/proto/tenancy/v1/workspace.js';
import { type AutomationRecord, automationCollection } from '../src/definitions/records.js';
import { type AutomationRunRecord, runCollection } from '../src/runs/records.js';
import {
  type FireRecord,
  fireCollection,
  scheduleCollection,
  stateCollection,
  tzCollection,
} from '../src/schedules/records.js';
import { createAutomations } from '../src/service.js';

const SCOPES = [
  ...['agent_schedule:read', 'agent_schedule:write', 'automation:write', 'agent_run:write'],
  ...['im:write', 'chat_session:write'],
];
export const SLOT = Date.UTC(2031, 2, 3, 12, 0);

/** Opens the automations service for schedules, at a time that the test sets, with fakes of the other services. */
export async function openScheduleStage(start = SLOT - 600_000) {
  process.env.COMMONPLACE_AUTOMATION_WORKERS = '0';
  let ahead = start - Date.now();
  const now = () => Date.now() + ahead;
  const orgId = newId();
  const workspaceId = newId();
  const agentId = newId();
  const members = new Map<string, WorkspaceRole>();
  const place = { archived: false, timezone: 'Europe/Berlin', hidden: false };
  const names = new Map<string, string>();
  const agentRuns = new Map<string, RunStatus>();
  const canceled: string[] = [];
  /** The memberships of conversations, as `<person>:<conversation>`. */
  const conversations = new Set<string>();
  /** The places of conversations that are not in the stage's workspace. */
  const conversationPlaces = new Map<string, { readonly workspaceId: string; readonly orgId: string }>();
  /** The people's own chat sessions, as `<person>:<session>`. */
  const sessions = new Set<string>();
  /** The people who may not use the agent. */
  const unusable = new Set<string>();
  /** The resources that everybody can read. */
  const readable = new Set<string>();
  const startRequests: StartWorkRunRequest[] = [];
  type Answer = (request: StartWorkRunRequest) => StartWorkRunResponse | Promise<StartWorkRunResponse>;
  let answer: Answer = () => ({ refusalCode: '', refusal: '' });
  const stage = await openStage(createAutomations(now), [
    fake(contracts.directory, {
      getMemberships: async ({ userId }) => {
        const role = place.hidden ? undefined : members.get(userId);
        const mine = { workspaceId, orgId, role, archived: place.archived };
        return {
          userId,
          orgs: role === undefined ? [] : [OrgMembership.fromPartial({ orgId, role: OrgRole.MEMBER, name: 'Org' })],
          groups: [],
          workspaces: role === undefined ? [] : [WorkspaceMembership.fromPartial(mine as never)],
        };
      },
      getSharingTerms: async (request) => {
        if (place.hidden) throw NotFound();
        return SharingTerms.fromPartial(request);
      },
    }),
    fake(contracts.auth, {
      findUsers: async ({ ids }) => ({ users: ids.map((id) => User.fromPartial({ id, name: names.get(id) ?? '' })) }),
    }),
    fake(contracts.workspaces, {
      getWorkspace: async ({ workspaceId: id }) =>
        Workspace.fromPartial({ id, settings: { timezone: place.timezone } }),
    }),
    fake(contracts.conversationAccess, {
      checkMembers: async ({ pairs }) => ({
        standings: pairs.map((pair) => ({
          ...{ ...pair, visibleFromSeq: 1, workspaceId, orgId, ...conversationPlaces.get(pair.conversationId) },
          isActive: conversations.has(`${pair.userId}:${pair.conversationId}`),
        })),
      }),
    }),
    fake(contracts.agentDirectory, {
      lookUpAgents: async ({ agentIds }, { caller }) => ({
        items:
          agentIds.includes(agentId) && !unusable.has(caller.userId)
            ? [{ id: agentId, name: 'Helper', orgId, ownerId: newId(), isActive: true, autoRun: false }]
            : [],
      }),
    }),
    fake(contracts.index, {
      checkAccess: async ({ ids }) => ({
        resources: ids
          .filter((id) => readable.has(id))
          .map((id) => AccessibleResource.fromPartial({ id, workspaceId })),
      }),
    }),
    fake(contracts.workRuns, {
      checkAnswerSession: async (request) => ({
        mayAnswer: request.orgId === orgId && sessions.has(`${request.userId}:${request.sessionId}`),
      }),
      startWorkRun: async (request) => {
        startRequests.push(request);
        const answered = await answer(request);
        if (answered.refusalCode === '' && !agentRuns.has(request.runId))
          agentRuns.set(request.runId, RunStatus.RUNNING);
        return answered;
      },
      cancelWorkRun: async ({ runId }) => {
        canceled.push(runId);
        agentRuns.set(runId, RunStatus.CANCELED);
        return {};
      },
      findWorkRuns: async ({ runIds }) => ({
        items: runIds.flatMap((id) => {
          const status = agentRuns.get(id);
          return status === undefined ? [] : [WorkRun.fromPartial({ id, status })];
        }),
      }),
    }),
  ]);
  const { store } = stage.own;
  const schedules = await store.collection(scheduleCollection);
  const states = await store.collection(stateCollection);
  const fires = await store.collection(fireCollection);
  const automations = await store.collection(automationCollection);
  const runs = await store.collection(runCollection);
  const zones = await store.collection(tzCollection);
  const client = stage.host.client(contracts.schedules);

  const person = (name: string, role = WorkspaceRole.EDITOR): Caller => {
    const caller = personCalled(name, SCOPES);
    members.set(caller.userId, role);
    names.set(caller.userId, name);
    return caller;
  };
  const owner = person('Owner');

  /** Makes the queues poll, as they do when a timer ends. */
  async function nudge(): Promise<void> {
    const id = newId();
    for (const records of [fires, states]) {
      const work = store.begin();
      work.insert(records as never, { id, tenant: 'nobody' } as never);
      await work.commit();
      const after = store.begin();
      const record = await after.get(records as never, id);
      after.remove(records as never, record as never);
      await after.commit();
    }
  }

  async function announce(service: string, type: string, subject: string, data: object = {}): Promise<void> {
    await stage.host.bus.publish([createEvent({ service, type, subject, data, tenant: orgId })]);
  }

  const stageOf = {
    ...{ stage, store, schedules, states, fires, automations, runs, zones, client, now, orgId, workspaceId, agentId },
    ...{
      members,
      conversations,
      conversationPlaces,
      sessions,
      readable,
      unusable,
      place,
      agentRuns,
      canceled,
      startRequests,
      person,
      owner,
      nudge,
      announce,
    },
    answer: (act: typeof answer) => {
      answer = act;
    },
    /** Moves the clock to a time. Nothing happens in between, as if no process were running. */
    async goTo(at: number): Promise<void> {
      ahead = at - Date.now();
      await nudge();
    },
    async automation(more: Partial<AutomationRecord> = {}): Promise<AutomationRecord> {
      const at = new Date(now()).toISOString();
      const actsAs = { userId: owner.userId, userName: 'Owner', credentialId: 'session', scopes: SCOPES };
      const work = store.begin();
      const record = work.insert(automations, {
        ...{ id: newId(), tenant: orgId, orgId, workspaceId, name: 'Digest', nameFold: 'digest' },
        ...{ description: '', isActive: true },
        ...{ definitionVersion: 1, triggerType: 'schedule', secrets: [], createdAt: at, updatedAt: at },
        createdBy: { type: 'user', id: owner.userId, name: 'Owner' },
        definition: {
          ...{ trigger: { type: 'schedule' }, conditions: [], actions: [], runAs: 'creator', concurrency: 'allow' },
          ...{ retry: { maxAttempts: 0, backoffSeconds: 1 }, timeoutSeconds: 60, actsAs },
        },
        ...more,
      } as AutomationRecord);
      await work.commit();
      return record;
    },
    async create(fields: object, by: Caller = owner) {
      const request = CreateScheduleRequest.fromPartial({ name: 'Each minute', ...fields });
      return client.createSchedule(request, await stage.as(by));
    },
    async update(scheduleId: string, fields: object, by: Caller = owner, mask = maskOf(fields)) {
      const request = UpdateScheduleRequest.fromPartial({ scheduleId, updateMask: mask, ...fields });
      return client.updateSchedule(request, await stage.as(by));
    },
    async get(scheduleId: string, by: Caller = owner) {
      const include = [ScheduleInclude.FIRES, ScheduleInclude.RECENT_RUNS];
      return client.getSchedule({ scheduleId, include }, await stage.as(by));
    },
    /** Returns `[slot, outcome]` of the fires of a schedule that were decided, oldest first. */
    async outcomes(scheduleId: string): Promise<[string, string][]> {
      const { fires: shown } = await stageOf.get(scheduleId);
      return shown
        .map(({ scheduledFor = '', outcome }): [string, string] => [
          scheduledFor.slice(11, 19),
          enumName(outcome, 'FIRE_OUTCOME'),
        ])
        .reverse();
    },
    async until(scheduleId: string, outcomes: readonly (readonly [string, string])[]): Promise<void> {
      await eventually(async () => {
        const found = await stageOf.outcomes(scheduleId);
        if (JSON.stringify(found) !== JSON.stringify(outcomes)) throw new Error(JSON.stringify(found));
      });
    },
    runsOf: (automationId: string): Promise<AutomationRunRecord[]> =>
      runs.find({ where: { automationId }, sort: ['createdAt'], limit: 200 }),
    firesOf: (scheduleId: string): Promise<FireRecord[]> =>
      fires.find({ where: { scheduleId }, sort: ['scheduledFor'], limit: 500 }),
    /** Ends a run of an automation, as its worker does. */
    async endRun(run: AutomationRunRecord, status: 'completed' | 'failed' = 'completed'): Promise<void> {
      const work = store.begin();
      const found = await work.get(runs, run.id);
      if (found !== undefined) work.replace(runs, found, { ...found, status, dueAt: undefined });
      await work.commit();
      const type = status === 'failed' ? 'automation_run.failed' : 'automation_run.finished';
      await announce('automations', type, run.id, { status });
    },
    close: () => stage.close(),
  };
  return stageOf;
}

const maskOf = (fields: object): string[] =>
  Object.keys(fields).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

export type ScheduleStage = Awaited<ReturnType<typeof openScheduleStage>>;
