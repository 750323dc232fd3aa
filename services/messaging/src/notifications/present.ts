import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { MembershipCache, PersonMemberships } from '@commonplace/platform/memberships';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import {
  type Notification as NotificationMessage,
  NotificationTargetType,
  NotificationType,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { Settings } from '../config.js';
import type { Target } from '../domain/draft.js';
import { titleOf } from '../domain/text.js';
import type { Notification } from './records.js';

/** Dependencies for presenting notifications. */
export interface PresentParts {
  readonly settings: Pick<Settings, 'publicUrl'>;
  readonly memberships: MembershipCache;
  readonly index: Client<IndexService>;
  /**
   * Returns the names of those of the given conversations that the caller is a member of; the name of a direct
   * conversation is empty.
   */
  conversationNames(ids: readonly string[], context: CallContext): Promise<ReadonlyMap<string, string>>;
}

/** The names of the targets that the reader may see, by `<type>:<id>`. */
type Names = ReadonlyMap<string, string>;

/** Returns notifications as their reader may see them now, without targets that the reader can no longer see. */
export async function present(
  parts: PresentParts,
  context: CallContext,
  notifications: readonly Notification[],
): Promise<NotificationMessage[]> {
  const names = await namesOf(parts, context, notifications);
  return notifications.map((notification) => toMessage(notification, names, parts.settings.publicUrl));
}

const UNNAMED: ReadonlySet<Target['type']> = new Set(['api_key', 'usage', 'memory', 'approval', 'agent']);

/** Targets that members of their workspace may see. They are named as at the time of the event. */
const WORK: ReadonlySet<Target['type']> = new Set(['work_item', 'automation', 'schedule']);

async function namesOf(
  parts: PresentParts,
  context: CallContext,
  notifications: readonly Notification[],
): Promise<Names> {
  const { memberships, index } = parts;
  const targets = notifications.map(({ target }) => target);
  const ids = [...new Set(targets.flatMap(({ type, id }) => (type === 'resource' ? [id] : [])))];
  const talks = [...new Set(targets.flatMap(({ type, id }) => (type === 'conversation' ? [id] : [])))];
  const needsPerson = targets.some(({ type }) => type === 'workspace' || type === 'org' || WORK.has(type));
  const [readable, person, conversations] = await Promise.all([
    ids.length === 0 ? [] : index.checkAccess({ ids }, context.onward).then(({ resources }) => resources),
    needsPerson ? memberships.of(context.caller.userId, context.onward) : undefined,
    talks.length === 0 ? new Map<string, string>() : parts.conversationNames(talks, context),
  ]);
  const names = new Map(readable.map(({ id, name }) => [`resource:${id}`, name]));
  for (const [id, name] of conversations) names.set(`conversation:${id}`, name);
  for (const notification of notifications) {
    const { target } = notification;
    const name = person === undefined ? undefined : placeName(person, notification);
    if (name !== undefined) names.set(keyOf(target), name);
    // These targets are shown without a name and without a check, since only people who know them are notified: the
    // person that a key acts as and the administrators of its Org, the owner of an agent, the person whom a proposed memory concerns, the people who may
    // decide an approval.
    if (UNNAMED.has(target.type)) names.set(keyOf(target), '');
  }
  return names;
}

function placeName({ workspaces, orgs }: PersonMemberships, notification: Notification): string | undefined {
  const { target, workspaceId = '', facts } = notification;
  const { type, id } = target;
  if (WORK.has(type)) return workspaces.has(workspaceId) ? (facts.called ?? '') : undefined;
  return type === 'workspace' ? workspaces.get(id)?.name : type === 'org' ? orgs.get(id)?.name : undefined;
}

function keyOf({ type, id }: Target): string {
  return `${type}:${id}`;
}

function toMessage(notification: Notification, names: Names, publicUrl: string): NotificationMessage {
  const { id, type, actor, target, workspaceId, facts, state, readAt, groupKey, count, at } = notification;
  const name = names.get(keyOf(target));
  const seen = name !== undefined;
  return {
    id,
    type: NotificationType[type.toUpperCase() as keyof typeof NotificationType],
    title: titleOf(type, { actor: actor.name, name, facts }),
    body: seen || isOwnMatter(notification) ? facts.message : undefined,
    actor: { ...actor, type: ActorType[actor.type.toUpperCase() as keyof typeof ActorType] },
    target: seen
      ? {
          type: NotificationTargetType[target.type.toUpperCase() as keyof typeof NotificationTargetType],
          id: target.id,
          workspaceId,
          url: publicUrl + pathOf(target),
        }
      : undefined,
    isRead: readAt !== undefined,
    readAt,
    isArchived: state === 'archived',
    groupKey,
    count,
    createdAt: at,
  };
}

/** Returns whether the text is shown without access to the target, as for a denied access request. */
function isOwnMatter({ type, facts }: Notification): boolean {
  return type === 'access_decided' && facts.approved === false;
}

export function pathOf({ type, id }: Target): string {
  switch (type) {
    case 'resource':
      return `/api/v1/resources/${id}`;
    case 'workspace':
      return `/api/v1/workspaces/${id}`;
    case 'org':
      return `/api/v1/orgs/${id}`;
    case 'api_key':
      return '/api/v1/api-keys';
    case 'usage':
      return '/api/v1/usage';
    case 'conversation':
      return `/api/v1/im/conversations/${id}`;
    case 'memory':
      return `/api/v1/memories/${id}`;
    case 'approval':
      return `/approvals/${id}`;
    case 'agent':
      return `/api/v1/agents/${id}`;
    case 'work_item':
      return `/api/v1/work-items/${id}`;
    case 'automation':
      return `/api/v1/automations/${id}`;
    case 'schedule':
      return `/api/v1/agent-schedules/${id}`;
  }
}
