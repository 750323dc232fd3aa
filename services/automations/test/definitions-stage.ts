import { type Caller, KNOWN_SCOPES } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallMetadata, CallOptions, Reply } from '@commonplace/kit/rpc';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled } from '@commonplace/platform/testing';
import {
  type Automation,
  AutomationAction,
  AutomationCondition,
  Trigger,
  TriggerType,
} from '@commonplace/proto/automations/v1/automation.js';
import {
  CreateAutomationRequest,
  ListAutomationsRequest,
  TriggerAutomationRequest,
  UpdateAutomationRequest,
} from '@commonplace/proto/automations/v1/automation_service.js';
import { Content } from '@commonplace/proto/resources/v1/content_service.js';
import { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgMembership, SharingTerms, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { automationCollection, definitionCollection } from '../src/definitions/records.js';
import { laneCollection, runCollection } from '../src/runs/records.js';
import { createAutomations } from '../src/service.js';

const ROLES = {
  admin: WorkspaceRole.ADMIN,
  editor: WorkspaceRole.EDITOR,
  viewer: WorkspaceRole.VIEWER,
  guest: WorkspaceRole.GUEST,
} as const;

export type Role = keyof typeof ROLES;

/** An action as a client writes it. */
export interface PlainAction {
  readonly id?: string;
  readonly type: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly on_error?: string;
}

export const actionsOf = (actions: readonly PlainAction[]): AutomationAction[] =>
  actions.map(({ id = '', type, config = {}, on_error: onError = '' }) =>
    AutomationAction.fromPartial({
      ...{ id, onError, type: `ACTION_TYPE_${type.toUpperCase()}` as AutomationAction['type'] },
      config: Buffer.from(JSON.stringify(config)),
    }),
  );

export const conditionsOf = (conditions: readonly Record<string, unknown>[]): AutomationCondition[] =>
  conditions.map((one) => {
    const {
      path = '',
      op = '',
      value,
      any = [],
    } = one as { path?: string; op?: string; value?: unknown; any?: unknown[] };
    const message = { path, op: `CONDITION_OP_${op.toUpperCase() || 'UNSPECIFIED'}` as AutomationCondition['op'] };
    const json = value === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(value));
    const simple = conditionsOf(any as Record<string, unknown>[]);
    return AutomationCondition.fromPartial({ ...message, value: json, any: simple.map(({ any: _, ...rest }) => rest) });
  });

export const NOTE: PlainAction = { id: 'note', type: 'create_resource', config: { type: 'document', name: 'Note' } };

/** Opens the automations service with a workspace in an Org and fakes of the other services. */
export async function openDefinitionStage(settings: NodeJS.ProcessEnv = {}) {
  settings = { COMMONPLACE_AUTOMATION_WORKERS: '0', ...settings };
  const kept = Object.fromEntries(Object.keys(settings).map((name) => [name, process.env[name]]));
  Object.assign(process.env, settings);
  const orgId = newId();
  const workspaceId = newId();
  const otherWorkspaceId = newId();
  const roles = new Map<string, Role>();
  const archived = new Set<string>();
  /** Whether the deletion of the Org is scheduled. */
  const org = { isDeleted: false };
  const readable = new Map<string, { readonly workspaceId: string; readonly type: ResourceType }>();
  /** Ids of the columns of tables. */
  const columns = new Map<string, readonly string[]>();
  /** Workspaces of tags and resources of forms, by their ids. */
  const tags = new Map<string, string>();
  const forms = new Map<string, string>();
  /** The `url_allowlist` of the Org. */
  const urlAllowlist: string[] = [];
  let ahead = 0;
  const membership = (id: string, userId: string) =>
    WorkspaceMembership.fromPartial({
      ...{ workspaceId: id, orgId, archived: archived.has(id) },
      role: ROLES[roles.get(userId) ?? 'viewer'],
    });
  const stage = await openStage(
    createAutomations(() => Date.now() + ahead),
    [
      fake(contracts.directory, {
        getUrlAllowlist: async ({ tenant }) => ({ entries: tenant === orgId ? [...urlAllowlist] : [] }),
        getMemberships: async ({ userId }) => {
          const belongs = roles.has(userId) && !org.isDeleted;
          return {
            userId,
            orgs: belongs ? [OrgMembership.fromPartial({ orgId, name: 'Org', role: OrgRole.MEMBER })] : [],
            groups: [],
            workspaces: belongs ? [membership(workspaceId, userId), membership(otherWorkspaceId, userId)] : [],
          };
        },
        getSharingTerms: async (request) => {
          if (org.isDeleted) throw NotFound();
          return SharingTerms.fromPartial(request);
        },
      }),
      fake(contracts.content, {
        getContent: async ({ resourceId }) => {
          const found = (columns.get(resourceId) ?? throwNotFound()).map((id) => ({ id, name: `The ${id}` }));
          return Content.fromPartial({ resourceId, columns: Buffer.from(JSON.stringify(found)) });
        },
      }),
      fake(contracts.index, {
        locateTagsAndForms: async ({ tagIds, formIds }) => ({
          tagWorkspaces: Object.fromEntries([...tags].filter(([id]) => tagIds.includes(id))),
          formResources: Object.fromEntries([...forms].filter(([id]) => formIds.includes(id))),
        }),
        checkAccess: async ({ ids }) => ({
          resources: ids.flatMap((id) => {
            const found = readable.get(id);
            return found === undefined ? [] : [AccessibleResource.fromPartial({ id, ...found })];
          }),
        }),
      }),
    ],
  );
  for (const [name, value] of Object.entries(kept)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  const { store } = stage.own;
  const records = {
    automations: await store.collection(automationCollection),
    definitions: await store.collection(definitionCollection),
    runs: await store.collection(runCollection),
    lanes: await store.collection(laneCollection),
  };
  const client = stage.host.client(contracts.automations);
  const hooks = stage.host.client(contracts.automationHooks);
  const person = (name: string, role: Role = 'editor', scopes: readonly string[] = KNOWN_SCOPES): Caller => {
    const caller = personCalled(name, scopes);
    roles.set(caller.userId, role);
    return caller;
  };
  const as = (caller: Caller, metadata: Partial<CallMetadata> = {}, reply: Reply = {}): Promise<CallOptions> =>
    stage.as(caller, metadata, reply);

  return {
    ...{ stage, store, records, client, hooks, orgId, workspaceId, otherWorkspaceId, roles, archived, readable },
    ...{ tags, forms, org, columns },
    ...{ person, as },
    pass(ms: number): void {
      ahead += ms;
    },
    async create(
      caller: Caller,
      { actions = [NOTE], conditions = [], trigger, ...more }: CreateOptions = {},
    ): Promise<Automation> {
      const request = CreateAutomationRequest.fromPartial({
        ...{ name: 'Welcome', workspaceId, ...more },
        trigger: Trigger.fromPartial(trigger ?? { type: TriggerType.MANUAL }),
        actions: actionsOf(actions),
        conditions: conditionsOf(conditions),
      });
      return client.createAutomation(request, await as(caller));
    },
    async update(
      caller: Caller,
      automationId: string,
      changes: Partial<UpdateAutomationRequest>,
      metadata: Partial<CallMetadata> = {},
    ): Promise<Automation> {
      const updateMask = Object.keys(changes).map((name) =>
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      );
      const request = UpdateAutomationRequest.fromPartial({ automationId, updateMask, ...changes } as never);
      return client.updateAutomation(request, await as(caller, metadata));
    },
    get: async (caller: Caller, automationId: string) => client.getAutomation({ automationId }, await as(caller)),
    remove: async (caller: Caller, automationId: string) => client.deleteAutomation({ automationId }, await as(caller)),
    list: async (caller: Caller, filter: Partial<ListAutomationsRequest> = {}) =>
      client.listAutomations(
        ListAutomationsRequest.fromPartial({ page: { limit: 50, offset: 0, cursor: '' }, ...filter } as never),
        await as(caller),
      ),
    async hook(token: string, body: string, headers: Readonly<Record<string, string>> = {}, payload = body) {
      const deliveryId = headers['webhook-id'] ?? headers['idempotency-key'] ?? '';
      const request = TriggerAutomationRequest.fromPartial({
        ...{ token, body, deliveryId, payload: Buffer.from(payload), headers: JSON.stringify(headers) },
      });
      return hooks.triggerAutomation(request, await stage.as(undefined));
    },
    close: () => stage.close(),
  };
}

function throwNotFound(): never {
  throw NotFound();
}

export interface CreateOptions extends Partial<Omit<CreateAutomationRequest, 'actions' | 'conditions' | 'trigger'>> {
  readonly actions?: readonly PlainAction[];
  readonly conditions?: readonly Record<string, unknown>[];
  readonly trigger?: Parameters<typeof Trigger.fromPartial>[0];
}

export type DefinitionStage = Awaited<ReturnType<typeof openDefinitionStage>>;

/** Returns the token in the URL of an automation's webhook. */
export const tokenOf = ({ webhookUrl = '' }: Automation): string => webhookUrl.split('/').at(-1) ?? '';
