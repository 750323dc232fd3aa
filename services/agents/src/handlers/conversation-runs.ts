import { AppError } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type {
  ConversationRunService,
  StartConversationRunRequest,
} from '@commonplace/proto/agents/v1/conversation_run_service.js';
import { agentForRun } from '../agents/use.js';
import type { Parts } from '../parts.js';
import { type Asking, choosePlace } from '../policy.js';
import { taintsOfMessages } from '../runs/message-taints.js';
import { type RunDraft, startRun } from '../runs/start.js';
import { startingCaller } from '../runs/starting-caller.js';
import { PERMANENT_CODES, REPORTED_REASONS } from './run-refusals.js';

/** Creates the handlers for runs that messages of conversations start. */
export function createConversationRunHandlers(parts: Parts): Handlers<ConversationRunService> {
  return {
    async startConversationRun(request, { work }) {
      // Other limits of the credential were checked when the message was sent.
      const { runId, userId: id, userName: name } = request;
      if ((await work.get(parts.runs, runId)) !== undefined) return { refusal: '' };
      const onward = parts.systemCall();
      const actor = { type: 'user', id, name } as const;
      try {
        await start(parts, request, { caller: startingCaller(request), actor, work, onward });
      } catch (error) {
        return { refusal: refusalOf(error) };
      }
      return { refusal: '' };
    },
  };
}

async function start(parts: Parts, request: StartConversationRunRequest, asking: Asking): Promise<void> {
  const { runId, agentId, conversationId, messageId, text, resourceIds } = request;
  const { agent, workspaceId } = await agentForRun(parts, agentId, request.workspaceId, asking);
  const place = await choosePlace(parts, { workspaceId }, asking);
  const earlier = request.earlier.map(({ authorName, byAgent, authorId, text: content }) => ({
    ...{ author: authorName, isOwn: byAgent && authorId === agentId, text: content },
  }));
  const draft: RunDraft = {
    ...{ id: runId, place, agent, resourceIds, searches: true },
    source: 'im',
    input: { text, attachments: resourceIds, parameters: {} },
    conversation: { id: conversationId, messageId, earlier },
    ...(request.chain.length > 0 && { chain: request.chain }),
    taintSources: await taintsOfMessages(parts, request.earlier, workspaceId),
  };
  await startRun(parts, draft, asking);
}

/** Returns a sentence that explains why a run cannot be started. Rethrows errors that a retry may resolve. */
function refusalOf(error: unknown): string {
  if (!(error instanceof AppError)) throw error;
  if (REPORTED_REASONS.has(error.reason)) return error.message;
  if (error.reason === 'workspace_required') return NO_PLACE;
  if (!PERMANENT_CODES.has(error.code)) throw error;
  return 'The agent does not work here for the person who has mentioned it.';
}

const NO_PLACE =
  'It is not clear in which workspace the agent is to work: mention it in a conversation of a workspace in which it acts.';
