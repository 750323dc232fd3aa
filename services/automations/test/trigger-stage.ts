import { AppError } from '@commonplace/kit/errors';
import { createEvent, type DomainEvent, type EventFacts } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { eventually } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { fake, openStage } from '@commonplace/platform/testing';
import { User } from '@commonplace/proto/identity/v1/user.js';
import { MemberStanding } from '@commonplace/proto/messaging/v1/conversation_access_service.js';
import { ReadResource } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgMembership, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import {
  type AutomationRecord,
  automationCollection,
  type Definition,
  definitionCollection,
  type StoredTrigger,
} from '../src/definitions/records.js';
import { type AutomationRunRecord, laneCollection, runCollection, stepCollection } from '../src/runs/records.js';
import { createAutomations } from '../src/service.js';
import { contentTurnCollection } from '../src/triggers/records.js';

export interface Person {
  readonly id: string;
  readonly name: string;
}

type Place = Pick<WorkspaceMembership, 'workspaceId' | 'orgId' | 'role' | 'archived'>;

/** Opens the service without workers, so that runs stay as events have started them, with fakes of the others. */
export async function openTriggerStage() {
  process.env.COMMONPLACE_AUTOMATION_WORKERS = '0';
  const places = new Map<string, Place[]>();
  const orgs = new Map<string, string[]>();
  const names = new Map<string, string>();
  const resources = new Map<string, ReadResource>();
  /** `<user>:<resource>` of what somebody may not see. */
  const hidden = new Set<string>();
  /** Resources for which every access check fails with the same error. */
  const broken = new Set<string>();
  /** `<user>:<conversation>` of members. */
  const members = new Set<string>();
  let ahead = 0;
  const directory = fake(contracts.directory, {
    getMemberships: async ({ userId }) => ({
      userId,
      orgs: (orgs.get(userId) ?? []).map((orgId) => OrgMembership.fromPartial({ orgId })),
      groups: [],
      workspaces: (places.get(userId) ?? []).map((place) => WorkspaceMembership.fromPartial(place)),
    }),
  });
  const index = fake(contracts.index, {
    checkReaders: async ({ resourceIds, userIds }) => {
      if (resourceIds.some((id) => broken.has(id))) throw new AppError('INTERNAL', 'internal_error', 'It is broken.');
      const found = resourceIds.flatMap((id) => resources.get(id) ?? []);
      const roleOf = (userId: string, { id, workspaceId }: ReadResource) => {
        const isMember = (places.get(userId) ?? []).some((place) => place.workspaceId === workspaceId);
        return isMember && !hidden.has(`${userId}:${id}`) ? ResourceRole.EDITOR : ResourceRole.UNSPECIFIED;
      };
      const readers = userIds.map((userId) => ({
        roles: found.map((resource) => roleOf(userId, resource)),
        entersWorkspace: false,
      }));
      return { resources: found, readers };
    },
  });
  const conversations = fake(contracts.conversationAccess, {
    checkMembers: async ({ pairs }) => ({
      standings: pairs.map((pair) =>
        MemberStanding.fromPartial({ ...pair, isActive: members.has(`${pair.userId}:${pair.conversationId}`) }),
      ),
    }),
  });
  const auth = fake(contracts.auth, {
    findUsers: async ({ ids }) => ({ users: ids.map((id) => User.fromPartial({ id, name: names.get(id) ?? '' })) }),
  });
  const stage = await openStage(
    createAutomations(() => Date.now() + ahead),
    [directory, index, conversations, auth],
  );
  const { store, bus } = stage.own;
  const records = {
    automations: await store.collection(automationCollection),
    definitions: await store.collection(definitionCollection),
    runs: await store.collection(runCollection),
    lanes: await store.collection(laneCollection),
    steps: await store.collection(stepCollection),
    turns: await store.collection(contentTurnCollection),
  };

  const actions = {
    ...{ stage, store, bus, records, places, orgs, hidden, members, broken },
    person(name: string): Person {
      const id = newId();
      names.set(id, name);
      return { id, name };
    },
    /** Makes somebody a member of a workspace, and of its Org if there is one. */
    join({ id }: Person, workspaceId: string, orgId = '', role = WorkspaceRole.EDITOR, archived = false) {
      places.set(id, [...(places.get(id) ?? []), { workspaceId, orgId, role, archived }]);
      if (orgId !== '') orgs.set(id, [...(orgs.get(id) ?? []), orgId]);
    },
    leave({ id }: Person) {
      places.delete(id);
      orgs.delete(id);
    },
    resource(workspaceId: string, more: Partial<ReadResource> = {}): string {
      const id = newId();
      resources.set(id, ReadResource.fromPartial({ id, workspaceId, type: ResourceType.DOCUMENT, ...more }));
      return id;
    },
    async automation(
      workspaceId: string,
      by: Person,
      trigger: StoredTrigger,
      more: Partial<Definition> & { readonly orgId?: string; readonly isActive?: boolean } = {},
    ): Promise<AutomationRecord> {
      const { orgId = '', isActive = true, ...changes } = more;
      const at = new Date().toISOString();
      const definition: Definition = {
        ...{ trigger, conditions: [], actions: [], runAs: 'creator', concurrency: 'queue', timeoutSeconds: 600 },
        retry: { maxAttempts: 2, backoffSeconds: 30 },
        actsAs: { userId: by.id, userName: by.name, credentialId: 'session', scopes: ['content:write'] },
        ...changes,
      };
      const work = store.begin();
      const record = work.insert(records.automations, {
        ...{ id: newId(), tenant: orgId || workspaceId, orgId, workspaceId, name: 'Automation' },
        ...{ nameFold: 'automation', description: '' },
        ...{ isActive, definitionVersion: 1, definition, triggerType: trigger.type, secrets: [] },
        ...{ createdBy: { type: 'user', id: by.id, name: by.name }, creatorId: by.id, words: '' },
        ...{ createdAt: at, updatedAt: at },
      });
      await work.commit();
      return record;
    },
    publish: (...events: DomainEvent[]) => bus.publish(events),
    /** Waits until all that was published has been handled. */
    async settled(consumer = 'automations.triggers'): Promise<void> {
      await eventually(async () => {
        if ((await bus.lag(consumer)) > 0) throw new Error('events are left');
      }, 60_000);
    },
    async runsOf({ id }: Pick<AutomationRecord, 'id'>): Promise<AutomationRunRecord[]> {
      return records.runs.find({ where: { automationId: id }, sort: ['createdAt'], limit: 1_000 });
    },
    /** Publishes events, waits until they are handled, and returns the runs of an automation in their order. */
    async runsAfter(automation: AutomationRecord, ...events: DomainEvent[]): Promise<AutomationRunRecord[]> {
      await actions.publish(...events);
      await actions.settled();
      return (await actions.runsOf(automation)).sort((a, b) => a.seq - b.seq);
    },
    wait: (ms: number) => {
      ahead += ms;
    },
    memberships: () => createMembershipCache(stage.own.client(contracts.directory), bus),
    peers: () => ({
      index: stage.own.client(contracts.index),
      conversations: stage.own.client(contracts.conversationAccess),
    }),
    close: () => stage.close(),
  };
  return actions;
}

export type TriggerStage = Awaited<ReturnType<typeof openTriggerStage>>;

/** Returns an event as another service publishes it. */
export function eventBy(
  by: Person | undefined,
  name: string,
  data: object,
  more: Partial<EventFacts> & { readonly workspaceId: string },
): DomainEvent {
  const [service = '', ...type] = name.split('.');
  const { workspaceId, ...facts } = more;
  const actor = by === undefined ? undefined : ({ type: 'user', id: by.id, name: by.name } as const);
  return createEvent({
    ...{ service, type: type.join('.'), subject: newId(), tenant: workspaceId, actor },
    ...{ data: { workspaceId, ...data } },
    ...facts,
  });
}
