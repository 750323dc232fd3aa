import { createEvent } from '@commonplace/kit/events';
import { isObject } from '@commonplace/kit/json';
import { AssigneeType, WorkItemPriority, WorkItemStatus } from '@commonplace/proto/automations/v1/work_item.js';
import { CreateWorkItemRequest } from '@commonplace/proto/automations/v1/work_item_service.js';
import { SendMessageRequest } from '@commonplace/proto/messaging/v1/message_service.js';
import { CreateCommentRequest } from '@commonplace/proto/resources/v1/comment_service.js';
import { AddResourceTagsRequest } from '@commonplace/proto/resources/v1/tag_service.js';
import { ActionError } from '../failure.js';
import { chainOf } from '../finished-event.js';
import { type Action, type ActionContext, type ActionParts, done, enumIn, given } from './action.js';

export const addTag = ({ peers }: Pick<ActionParts, 'peers'>): Action => ({
  async run({ config, change }) {
    const request = AddResourceTagsRequest.fromPartial(
      given(config, { resource_id: 'resourceId', tag_id: 'tagId', name: 'name' }),
    );
    const { items } = await change((options) => peers.tags.addResourceTags(request, options));
    return done({ resource_id: request.resourceId, tags: items.map(({ id, name }) => ({ id, name })) });
  },
});

export const comment = ({ peers }: Pick<ActionParts, 'peers'>): Action => ({
  async run({ config, change }) {
    const request = CreateCommentRequest.fromPartial(
      given(config, {
        ...{ resource_id: 'resourceId', body: 'body', parent_comment_id: 'parentCommentId', mentions: 'mentions' },
      }),
    );
    const { id, threadId } = await change((options) => peers.comments.createComment(request, options));
    return done({ id, thread_id: threadId, resource_id: request.resourceId });
  },
});

export const sendMessage = ({ peers }: Pick<ActionParts, 'peers'>): Action => ({
  async run({ config, step, change }) {
    const request = SendMessageRequest.fromPartial({
      ...given(config, { conversation_id: 'conversationId', text: 'text', reply_to_id: 'replyToId' }),
      // The key keeps a second message from being sent, however long ago the first attempt was.
      clientMessageId: step.key,
      markRead: false,
    });
    const { id, seq } = await change((options) => peers.messages.sendMessage(request, options));
    return done({ id, conversation_id: request.conversationId, seq });
  },
});

export const createWorkItem = ({ peers }: Pick<ActionParts, 'peers'>): Action => ({
  async run({ config, run, change }) {
    const request = CreateWorkItemRequest.fromPartial({
      ...given(config, {
        ...{ title: 'title', description: 'description', due_at: 'dueAt', start_at: 'startAt', labels: 'labels' },
        ...{ parent_id: 'parentId', resource_ids: 'resourceIds', external_id: 'externalId', auto_run: 'autoRun' },
      }),
      status: enumIn(WorkItemStatus, config.status),
      priority: enumIn(WorkItemPriority, config.priority),
      assignee: assigneeIn(config.assignee),
      workspaceId: run.workspaceId,
    });
    const { id, number, title, version } = await change((options) => peers.workItems.createWorkItem(request, options));
    return done({ id, number, title, version });
  },
});

function assigneeIn(assignee: unknown) {
  if (assignee === undefined || assignee === null) return undefined;
  const type = isObject(assignee) ? enumIn(AssigneeType, assignee.type) : undefined;
  if (!isObject(assignee) || type === undefined || typeof assignee.id !== 'string') {
    throw new ActionError('invalid_type', 'config.assignee: must have the type user or agent, and an id.');
  }
  return { type, id: assignee.id };
}

/** Notifies members of the workspace, in the commit that stores the step. */
export const notify = (parts: Pick<ActionParts, 'memberships' | 'systemCall'>): Action => ({
  async run(context) {
    const { config, run, step } = context;
    const userIds = [...new Set(config.user_ids as readonly string[])];
    await requireMembers(parts, context, userIds);
    const { automationId, automationName, workspaceId } = run;
    const event = createEvent({
      ...{ service: 'automations', type: 'notification.requested', subject: step.id, tenant: run.tenant },
      data: {
        ...{ automationId, automationName, workspaceId, userIds },
        ...{ title: config.title, body: config.body ?? '', resourceId: config.resource_id ?? '' },
      },
      actor: { type: 'automation', id: automationId, name: automationName, person: run.actsAs.userId },
      chain: chainOf(run),
    });
    return { kind: 'done', output: { user_ids: userIds }, also: (work) => work.publish(event) };
  },
});

async function requireMembers(
  { memberships, systemCall }: Pick<ActionParts, 'memberships' | 'systemCall'>,
  { run, options }: ActionContext,
  userIds: readonly string[],
): Promise<void> {
  // Throws if the person whose rights the run has lost access.
  await options();
  const found = await Promise.all(userIds.map((id) => memberships.of(id, systemCall())));
  const nonMember = found.find(({ workspaces }) => !workspaces.has(run.workspaceId));
  if (nonMember !== undefined) {
    throw new ActionError('not_found', `config.user_ids: ${nonMember.userId} does not belong to the workspace.`);
  }
}
