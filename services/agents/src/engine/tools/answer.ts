import { AppError } from '@commonplace/kit/errors';
import { visible } from '../../domain/passage.js';
import type { ModelToolCall } from '../../models/port.js';
import type { Parts } from '../../parts.js';
import type { RunRecord } from '../../stores/runs.js';
import { requiredText, textSchema } from './arguments.js';
import { MAX_TEXT_LENGTH } from './im.js';
import { changePlan } from './plans.js';
import type { Tool } from './tool.js';

/** The id of the call that posts a run's answer. A run makes it once, after the last turn of its model. */
export const ANSWER_CALL_ID = 'answer';

type AnswerParts = Pick<Parts, 'conversations' | 'systemCall'>;

const schema = {
  name: 'post_answer',
  description: 'Posts the answer of a run into the conversation that it was asked for.',
  parameters: {
    type: 'object',
    properties: { text: textSchema('The answer, in Markdown.', MAX_TEXT_LENGTH) },
    required: ['text'],
    additionalProperties: false,
  },
};

/** Returns the call that posts a run's answer. */
export function answerCall(text: string): ModelToolCall {
  const input = { text: text.slice(0, MAX_TEXT_LENGTH) };
  return { id: ANSWER_CALL_ID, name: schema.name, arguments: JSON.stringify(input) };
}

/**
 * Creates the tool that posts a run's answer. It is not offered to models. In a run that has read untrusted content, a
 * stranger may have dictated the answer, so it is posted to other people only after an approval.
 */
export function createAnswerTool(parts: AnswerParts): Tool {
  return {
    schema,
    async plan(args, { run }) {
      const text = requiredText(args, 'text', MAX_TEXT_LENGTH);
      const { target, recipients, isSink } = await readersOf(parts, run);
      return changePlan(
        schema,
        { action: isSink ? 'comment' : 'read', risk: 'medium', isSink, title: `Post the answer to ${target}` },
        { text, targets: [target], recipients },
      );
    },
    // The unit of work that ends the run enqueues the message itself.
    call: async () => ({ text: 'The answer is posted when the run ends.', found: [] }),
  };
}

/** Returns the readers of a run's conversation besides its initiator, independently of what the run may read. */
async function readersOf({ conversations, systemCall }: AnswerParts, { conversation, userId }: RunRecord) {
  const request = { conversationId: conversation?.id ?? '', userId };
  const audience = await conversations.getAudience(request, systemCall()).catch((error) => {
    if (error instanceof AppError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  });
  // A deleted conversation has no readers.
  if (audience === undefined) return { target: 'a conversation', recipients: [], isSink: false };
  const { name, isOpen, others, unnamedCount } = audience;
  const named = others.map((one) => `${visible(one.name)} (${one.id})`);
  return {
    target: name === '' ? 'a direct conversation' : `“${visible(name)}”`,
    recipients: unnamedCount === 0 ? named : [...named, `${unnamedCount} more`],
    isSink: isOpen || others.length > 0 || unnamedCount > 0,
  };
}
