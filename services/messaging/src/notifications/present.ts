import { AppError } from '@commonplace/kit/errors';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import { enumValue } from '@commonplace/platform/enums';
import type { MembershipCache, PersonMemberships } from '@commonplace/platform/memberships';
import type { WorkDirectoryService, WorkEntry } from '@commonplace/proto/automations/v1/work_directory_service.js';
import {
  type Notification as NotificationMessage,
  NotificationTargetType,
  NotificationType,
} from '@commonplace/proto/messaging/v1/notification_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { Settings } from '../config.js';
import { actorType } from '../domain/actors.js';
import { lineOf } from '../domain/automations.js';
import type { Target } from '../domain/draft.js';
import { titleOf } from '../domain/titles.js';
import type { Notification } from './records.js';

/** Dependencies for presenting notifications. */
export interface PresentParts {
  readonly settings: Pick<Settings, 'publicUrl'>;
  readonly memberships: MembershipCache;
  readonly index: Client<IndexService>;
  readonly work: Client<WorkDirectoryService>;
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

async function namesOf(
  parts: PresentParts,
  context: CallContext,
  notifications: readonly Notification[],
): Promise<Names> {
  const { memberships, index } = parts;
  const targets = notifications.map(({ target }) => target);
  const named = targets.flatMap(({ type, id }) => (type === 'resource' ? [id] : []));
  const ids = [...new Set([...named, ...notifications.flatMap(({ facts }) => facts.resourceIds ?? [])])];
  const talks = [...new Set(targets.flatMap(({ type, id }) => (type === 'conversation' ? [id] : [])))];
  const needsPerson =
    notifications.some(isNotice) || targets.some(({ type }) => type === 'workspace' || type === 'org');
  const [readable, person, conversations, work] = await Promise.all([
    ids.length === 0 ? [] : index.checkAccess({ ids }, context.onward).then(({ resources }) => resources),
    needsPerson ? memberships.of(context.caller.userId, context.onward) : undefined,
    talks.length === 0 ? new Map<string, string>() : parts.conversationNames(talks, context),
    workNames(parts, context, targets),
  ]);
  const names = new Map(readable.map(({ id, name }) => [`resource:${id}`, name]));
  for (const [key, name] of work) names.set(key, name);
  for (const [id, name] of conversations) names.set(`conversation:${id}`, name);
  for (const notification of notifications) {
    const { target } = notification;
    const name = person === undefined ? undefined : placeName(person, target);
    if (name !== undefined) names.set(keyOf(target), name);
    const isAddressed = isNotice(notification) && person?.workspaces.has(notification.workspaceId ?? '');
    if (isAddressed) names.set(noticeKeyOf(notification), '');
    // These targets are shown without a name and without a check, since only people who know them are notified: the
    // person that a key acts as and the administrators of its Org, the owner of an agent, the person whom a proposed memory concerns, the people who may
    // decide an approval.
    if (UNNAMED.has(target.type)) names.set(keyOf(target), '');
  }
  return names;
}

function placeName({ workspaces, orgs }: PersonMemberships, { type, id }: Target): string | undefined {
  return type === 'workspace' ? workspaces.get(id)?.name : type === 'org' ? orgs.get(id)?.name : undefined;
}

/**
 * Returns the names of the work items, automations and schedules that the reader can see, by target. There are none while
 * the automations service does not answer, or is of a version without this query: the notifications are listed without
 * them.
 */
async function workNames(
  { work }: Pick<PresentParts, 'work'>,
  context: CallContext,
  targets: readonly Target[],
): Promise<Names> {
  const idsOf = (wanted: Target['type']) => [
    ...new Set(targets.flatMap(({ type, id }) => (type === wanted ? [id] : []))),
  ];
  const request = {
    ...{ workItemIds: idsOf('work_item'), automationIds: idsOf('automation'), scheduleIds: idsOf('schedule') },
  };
  if (Object.values(request).every((ids) => ids.length === 0)) return new Map();
  const found = await work.lookUpWork(request, context.onward).catch((error: unknown) => {
    if (error instanceof AppError && AWAY.has(error.code)) return undefined;
    throw error;
  });
  if (found === undefined) return new Map();
  const named = (type: Target['type'], entries: readonly WorkEntry[]) =>
    entries.map(({ id, name }) => [keyOf({ type, id }), lineOf(name)] as const);
  return new Map([
    ...named('work_item', found.workItems),
    ...named('automation', found.automations),
    ...named('schedule', found.schedules),
  ]);
}

const AWAY: ReadonlySet<AppError['code']> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']);

/**
 * Returns whether a notification is the text of an automation about nothing else. Its recipients are people of the
 * workspace, who may read it whether they see the automation or not.
 */
const isNotice = ({ type, target }: Notification): boolean =>
  type === 'automation_notice' && target.type === 'automation';

const noticeKeyOf = ({ id }: Notification): string => `notice:${id}`;

function keyOf({ type, id }: Target): string {
  return `${type}:${id}`;
}

function toMessage(notification: Notification, names: Names, publicUrl: string): NotificationMessage {
  const { id, type, actor, target, workspaceId, facts, state, readAt, groupKey, count, at } = notification;
  const name = names.get(keyOf(target));
  const seen = name !== undefined;
  const addressed = names.get(noticeKeyOf(notification));
  const isTold = (facts.resourceIds ?? []).every((about) => names.has(keyOf({ type: 'resource', id: about })));
  return {
    id,
    type: enumValue(NotificationType, type),
    title: titleOf(type, { actor: actor.name, name: name ?? addressed, facts }),
    body: isTold && (seen || addressed !== undefined || isOwnMatter(notification)) ? facts.message : undefined,
    actor: { ...actor, type: actorType(actor.type) },
    target: seen
      ? {
          type: enumValue(NotificationTargetType, target.type),
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
