import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import { type ScriptedCall, type ScriptedReply, tokensOf } from './script.js';

type Delta = ChatCompletionChunk.Choice.Delta;
type FinishReason = ChatCompletion.Choice['finish_reason'];

/** What all frames of an answer share. */
export interface AnswerHead {
  readonly id: string;
  readonly model: string;
  readonly created: number;
  /** Whether the client asked for the usage, which makes every frame carry the field. */
  readonly includeUsage: boolean;
}

/** One frame of a stream, and how many tokens the provider bills for it. */
export interface Frame {
  readonly chunk: ChatCompletionChunk;
  readonly tokens: number;
}

/** Characters of a call's arguments in one frame. */
const ARGUMENT_PIECE = 8;

/** Returns the frames of a reply up to its last token, in the vendor's form. */
export function replyFrames(head: AnswerHead, reply: ScriptedReply): Frame[] {
  const frame = (delta: Delta, tokens: number): Frame => ({ chunk: chunkOf(head, delta), tokens });
  const frames = [frame({ role: 'assistant', content: '', refusal: null }, 0)];
  for (const content of tokensOf(reply)) frames.push(frame({ content }, 1));
  for (const [index, call] of (reply.toolCalls ?? []).entries()) {
    const { id, name, text } = callOf(call, index);
    frames.push(frame({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }, 1));
    for (let at = 0; at < text.length; at += ARGUMENT_PIECE) {
      const piece = text.slice(at, at + ARGUMENT_PIECE);
      frames.push(frame({ tool_calls: [{ index, function: { arguments: piece } }] }, 1));
    }
  }
  return frames;
}

/** Returns the frame that ends a reply. */
export function finishFrame(head: AnswerHead, reply: ScriptedReply): ChatCompletionChunk {
  return chunkOf(head, {}, finishOf(reply));
}

/** Returns the frame with the usage, which has no choices. */
export function usageFrame(head: AnswerHead, usage: CompletionUsage): ChatCompletionChunk {
  return { ...chunkOf(head, {}), choices: [], usage };
}

/** Returns a whole reply in one object. */
export function completionOf(
  head: AnswerHead,
  reply: ScriptedReply,
  usage: CompletionUsage | undefined,
): ChatCompletion {
  const { id, model, created } = head;
  const calls = (reply.toolCalls ?? []).map(callOf);
  const message: ChatCompletion['choices'][0]['message'] = {
    role: 'assistant',
    content: tokensOf(reply).join('') || null,
    refusal: null,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, text }) => ({ id, type: 'function', function: { name, arguments: text } })),
    }),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply) }];
  return { id, object: 'chat.completion', created, model, choices, ...(usage && { usage }) };
}

export function usageOf(inputTokens: number, outputTokens: number): CompletionUsage {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

function chunkOf({ id, model, created, includeUsage }: AnswerHead, delta: Delta, finish: FinishReason | null = null) {
  const choices: ChatCompletionChunk.Choice[] = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  const chunk: ChatCompletionChunk = { id, object: 'chat.completion.chunk', created, model, choices };
  return includeUsage ? { ...chunk, usage: null } : chunk;
}

function finishOf({ finishReason, toolCalls = [] }: ScriptedReply): FinishReason {
  return finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
}

function callOf({ id, name, arguments: given = {} }: ScriptedCall, index: number) {
  return { id: id ?? `call_${index}`, name, text: typeof given === 'string' ? given : JSON.stringify(given) };
}
