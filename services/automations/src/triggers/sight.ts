import { enumName } from '@commonplace/platform/enums';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import {
  type ConversationMembership,
  type EventDraft,
  type ResourceAccess,
  seenData,
  withIds,
} from '@commonplace/platform/public-events';
import type { ReadResource } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import type { StoredTrigger } from '../definitions/records.js';
import type { Shared } from '../parts.js';
import { filtersResources, matchesResource, type ResourceFacts } from './match.js';
import type { TriggerEvent } from './trigger-event.js';

type SightParts = Pick<Shared, 'peers' | 'memberships' | 'systemCall'>;

/** An event and the person whose access to it is checked, because a run would have their rights. */
interface SightQuery {
  readonly event: TriggerEvent;
  readonly userId: string;
}

/** Maximum resources, people and pairs in one call to their service. */
const MAX_RESOURCES = 200;
const MAX_PEOPLE = 500;
const MAX_PAIRS = 1_000;

interface KnownResource extends ResourceFacts {
  readonly workspaceId: string;
  readonly trashed: boolean;
}

/** What people may currently see of events. */
export class Sights {
  private readonly resources = new Map<string, KnownResource>();
  /** Keyed by `<user>:<resource>` and `<user>:<conversation>`. */
  private readonly roles = new Map<string, ResourceRole>();
  private readonly conversationMemberships = new Map<string, ConversationMembership>();
  private readonly people = new Map<string, PersonMemberships>();

  private constructor(private readonly parts: SightParts) {}

  /** Reads the data for deciding about events. */
  static async read(parts: SightParts, queries: readonly SightQuery[], members: Iterable<string>): Promise<Sights> {
    const sights = new Sights(parts);
    await Promise.all([
      sights.readPeople(new Set([...members, ...queries.map(({ userId }) => userId)])),
      sights.readResources(queries),
      sights.readConversationMemberships(queries),
    ]);
    return sights;
  }

  person(userId: string): PersonMemberships | undefined {
    return this.people.get(userId);
  }

  /**
   * Returns the data of an event that all of some people may see and the trigger's filters pass; undefined if there is
   * none.
   */
  dataFor(trigger: StoredTrigger, event: TriggerEvent, userIds: readonly string[]): EventDraft['data'] | undefined {
    let data: EventDraft['data'] | undefined;
    let seen = this.wantedOf(trigger, event);
    for (const userId of userIds) {
      data = seen && this.dataSeenBy(userId, seen);
      seen = seen && data && withData(seen, data);
    }
    return data;
  }

  private dataSeenBy(userId: string, wanted: TriggerEvent): EventDraft['data'] | undefined {
    const resources = new Map<string, ResourceAccess>();
    for (const id of wanted.audience.resources?.ids ?? []) {
      const resource = this.resources.get(id);
      const role = this.roles.get(`${userId}:${id}`);
      if (resource !== undefined && role !== undefined) resources.set(id, { ...resource, role });
    }
    return seenData(wanted, {
      person: this.people.get(userId),
      resources,
      membership: this.conversationMemberships.get(`${userId}:${wanted.audience.conversation?.id}`),
      reaches: (workspaceId) => workspaceId === wanted.workspaceId,
    });
  }

  /** Returns an event with those of its resources that pass the trigger's filters; undefined if none does. */
  private wantedOf(trigger: StoredTrigger, event: TriggerEvent): TriggerEvent | undefined {
    if (!filtersResources(trigger)) return event;
    const { resources } = event.audience;
    const ids = (resources?.ids ?? []).filter((id) => {
      const resource = this.resources.get(id);
      return resource !== undefined && matchesResource(trigger, resource);
    });
    if (resources === undefined || ids.length === 0) return undefined;
    const data = event.data.resource_ids === undefined ? event.data : withIds(event.data, resources.ids, ids);
    return { ...event, data, audience: { ...event.audience, resources: { ...resources, ids } } };
  }

  private async readPeople(userIds: ReadonlySet<string>): Promise<void> {
    const { memberships, systemCall } = this.parts;
    await Promise.all(
      [...userIds].map(async (userId) => {
        this.people.set(userId, await memberships.of(userId, systemCall()));
      }),
    );
  }

  /** Checks access per workspace: all resources of its events for all people concerned, in as few calls as possible. */
  private async readResources(queries: readonly SightQuery[]): Promise<void> {
    const groups = new Map<string, { ids: Set<string>; users: Set<string> }>();
    for (const { event, userId } of queries) {
      const group = groups.get(event.workspaceId) ?? { ids: new Set(), users: new Set() };
      groups.set(event.workspaceId, group);
      for (const id of event.audience.resources?.ids ?? []) group.ids.add(id);
      group.users.add(userId);
    }
    for (const { ids, users } of groups.values()) {
      for (const some of chunksOf([...ids], MAX_RESOURCES)) {
        for (const people of chunksOf([...users], MAX_PEOPLE)) await this.askReaders(some, people);
      }
    }
  }

  private async askReaders(resourceIds: readonly string[], userIds: readonly string[]): Promise<void> {
    const { peers, systemCall } = this.parts;
    const request = { resourceIds: [...resourceIds], userIds: [...userIds], workspaceId: '' };
    const { resources, readers } = await peers.index.checkReaders(request, systemCall());
    for (const [i, resource] of resources.entries()) {
      this.resources.set(resource.id, knownResource(resource));
      for (const [j, userId] of userIds.entries()) {
        const role = readers[j]?.roles[i] ?? ResourceRole.UNSPECIFIED;
        if (role !== ResourceRole.UNSPECIFIED) this.roles.set(`${userId}:${resource.id}`, role);
      }
    }
  }

  private async readConversationMemberships(queries: readonly SightQuery[]): Promise<void> {
    const pairs = new Map<string, { userId: string; conversationId: string }>();
    for (const { event, userId } of queries) {
      const conversationId = event.audience.conversation?.id;
      if (conversationId !== undefined) pairs.set(`${userId}:${conversationId}`, { userId, conversationId });
    }
    const { peers, systemCall } = this.parts;
    for (const some of chunksOf([...pairs.values()], MAX_PAIRS)) {
      const { standings } = await peers.conversations.checkMembers({ pairs: [...some] }, systemCall());
      for (const one of standings) this.conversationMemberships.set(`${one.userId}:${one.conversationId}`, one);
    }
  }
}

/** Returns an event with the data that a person sees of it, and only the resources that these name. */
function withData(event: TriggerEvent, data: EventDraft['data']): TriggerEvent {
  const { resources } = event.audience;
  const { resource_ids: ids } = data;
  if (resources === undefined || !Array.isArray(ids)) return { ...event, data };
  return { ...event, data, audience: { ...event.audience, resources: { ...resources, ids: ids as string[] } } };
}

function knownResource({ workspaceId, trashed, type, ancestorIds, tagIds }: ReadResource): KnownResource {
  const name = enumName(type, 'RESOURCE_TYPE');
  return { workspaceId, trashed, type: name, ancestorIds, tagIds };
}

function chunksOf<T>(all: readonly T[], most: number): T[][] {
  const chunks: T[][] = [];
  for (let from = 0; from < all.length; from += most) chunks.push(all.slice(from, from + most));
  return chunks;
}
