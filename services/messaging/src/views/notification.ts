import type { PersonMemberships } from '@commonplace/kit/memberships';
import type { CallContext } from '@commonplace/kit/rpc';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import {
  type Notification as NotificationMessage,
  NotificationTargetType,
  NotificationType,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import type { Target } from '../domain/draft.js';
import { titleOf } from '../domain/text.js';
import type { Parts } from '../parts.js';
import type { Notification } from '../stores/notifications.js';

/** Names of the targets that the reader may see, by `<type>:<id>`. */
type Names = ReadonlyMap<string, string>;

/** Notifications as their reader may see them at this moment: a target that is lost to them has no name here. */
export async function present(
  parts: Parts,
  context: CallContext,
  notifications: readonly Notification[],
): Promise<NotificationMessage[]> {
  const names = await namesOf(
    parts,
    context,
    notifications.map(({ target }) => target),
  );
  return notifications.map((notification) => toMessage(notification, names, parts.settings.publicUrl));
}

async function namesOf(parts: Parts, context: CallContext, targets: readonly Target[]): Promise<Names> {
  const { memberships, index } = parts;
  const ids = [...new Set(targets.flatMap(({ type, id }) => (type === 'resource' ? [id] : [])))];
  const needsPerson = targets.some(({ type }) => type === 'workspace' || type === 'org');
  const [readable, person] = await Promise.all([
    ids.length === 0 ? [] : index.checkAccess({ ids }, context.onward).then(({ resources }) => resources),
    needsPerson ? memberships.of(context.caller.userId, context.onward) : undefined,
  ]);
  const names = new Map(readable.map(({ id, name }) => [`resource:${id}`, name]));
  for (const target of targets) {
    const name = person === undefined ? undefined : placeName(person, target);
    if (name !== undefined) names.set(keyOf(target), name);
    // A key's notice goes to the one person it acts as.
    if (target.type === 'api_key') names.set(keyOf(target), '');
  }
  return names;
}

function placeName({ workspaces, orgs }: PersonMemberships, { type, id }: Target): string | undefined {
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

/** What is said with a refusal is said to who never saw the target. */
function isOwnMatter({ type, facts }: Notification): boolean {
  return type === 'access_decided' && facts.approved === false;
}

function pathOf({ type, id }: Target): string {
  switch (type) {
    case 'resource':
      return `/api/v1/resources/${id}`;
    case 'workspace':
      return `/api/v1/workspaces/${id}`;
    case 'org':
      return `/api/v1/orgs/${id}`;
    case 'api_key':
      return '/api/v1/api-keys';
  }
}
