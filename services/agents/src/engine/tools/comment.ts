import { CreateCommentRequest } from '@commonplace/proto/resources/v1/comment_service.js';
import type { Parts } from '../../parts.js';
import { actOnce, reportConflicts } from './acts.js';
import { optionalId, optionalText, requiredId, requiredText, textSchema } from './arguments.js';
import { changePlan } from './plans.js';
import { isWider, targetOf } from './targets.js';
import type { Arguments, Tool } from './tool.js';

/** Maximum characters of a comment and of its quoted passage, as in the API. */
const MAX_BODY_LENGTH = 10_000;
const MAX_QUOTE_LENGTH = 2_000;

const schema = {
  name: 'comment',
  description: 'Comments on a document, on a passage of it, or replies to a comment.',
  parameters: {
    type: 'object',
    properties: {
      resource_id: { type: 'string', description: 'Id of the document.' },
      body: textSchema('The comment, in Markdown.', MAX_BODY_LENGTH),
      quote: {
        ...{ type: 'string', description: 'The passage that it is about, word for word.' },
        maxLength: MAX_QUOTE_LENGTH,
      },
      parent_comment_id: { type: 'string', description: 'Id of the comment to reply to.' },
    },
    required: ['resource_id', 'body'],
    additionalProperties: false,
  },
};

export function createCommentTools(parts: Pick<Parts, 'index' | 'comments'>): Tool[] {
  return [
    {
      schema,
      async plan(args, context) {
        const { resourceId, body } = readRequest(args);
        const target = await targetOf(parts, resourceId, context);
        const recipients = mentionsIn(body);
        // A mention notifies a person of the comment.
        const isSink = recipients.length > 0 || (await isWider(parts, target, context));
        return changePlan(
          schema,
          {
            action: 'comment',
            risk: recipients.length > 0 ? 'medium' : 'low',
            isSink,
            title: `Comment on “${target.name}”`,
            resourceIds: [target.id],
          },
          { text: body, targets: [target.name], recipients },
        );
      },
      call: (args, context) =>
        reportConflicts(async () => {
          const request = readRequest(args);
          await targetOf(parts, request.resourceId, context);
          const { id } = await actOnce(context, 'comment:write', args, (options) =>
            parts.comments.createComment(request, options),
          );
          return { text: `The comment has the id ${id}.`, found: [], resourceIds: [request.resourceId] };
        }),
    },
  ];
}

function readRequest(args: Arguments): CreateCommentRequest {
  const quote = optionalText(args, 'quote', MAX_QUOTE_LENGTH);
  return CreateCommentRequest.fromPartial({
    resourceId: requiredId(args, 'resource_id'),
    body: requiredText(args, 'body', MAX_BODY_LENGTH),
    parentCommentId: optionalId(args, 'parent_comment_id'),
    anchor: quote === undefined || quote === '' ? undefined : { quote },
  });
}

/** Returns the people that a Markdown text mentions as `@[name](user:id)`. */
export function mentionsIn(text: string): string[] {
  const found = [...text.matchAll(/@\[([^\]\n]{0,200})\]\(\s*<?user:([^)\s>]{1,100})/gi)];
  return [...new Set(found.map(([, name, id]) => `${name} (${id})`))];
}
