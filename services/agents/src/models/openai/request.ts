import { isObject } from '@commonplace/kit/json';
import type { ChatCompletionCreateParams, ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { RemoteModel } from '../model-list.js';
import type { ModelMessage, ModelRequest, ModelToolCall } from '../port.js';

/**
 * Parameters that some models refuse and replies do not need. Instead of `max_tokens` its newer name is sent then,
 * which other models do not know.
 */
export const OPTIONAL_PARAMETERS = ['max_tokens', 'temperature', 'stream_options', 'response_format'] as const;
export type OptionalParameter = (typeof OPTIONAL_PARAMETERS)[number];

/** Converts a request into the API's form, without the parameters that the model is known to refuse. */
export function chatParameters(
  model: RemoteModel,
  request: ModelRequest,
  refused: ReadonlySet<OptionalParameter>,
): ChatCompletionCreateParams {
  const { tools, temperature, outputSchema } = request;
  const limit = Math.min(request.maxOutputTokens, model.maxOutputTokens);
  const takes = (name: OptionalParameter) => !refused.has(name);
  return {
    model: model.model,
    messages: request.messages.map(messageOf),
    ...(takes('max_tokens') ? { max_tokens: limit } : { max_completion_tokens: limit }),
    ...(temperature !== undefined && takes('temperature') && { temperature }),
    ...(model.supportsTools &&
      tools.length > 0 && {
        tools: tools.map(({ name, description, parameters }) => ({
          type: 'function' as const,
          function: { name, description: plain(description), parameters: { ...parameters } },
        })),
      }),
    ...(outputSchema !== undefined &&
      model.supportsOutputSchema &&
      takes('response_format') && {
        response_format: { type: 'json_schema' as const, json_schema: { name: 'output', schema: { ...outputSchema } } },
      }),
    stream: model.supportsStreaming,
    ...(model.supportsStreaming && takes('stream_options') && { stream_options: { include_usage: true } }),
  };
}

function messageOf(message: ModelMessage): ChatCompletionMessageParam {
  const content = plain(message.content);
  switch (message.role) {
    case 'tool':
      // The API has no field for failed calls.
      return {
        role: 'tool',
        tool_call_id: message.toolCallId,
        content: message.isError ? `Error: ${content}` : content,
      };
    case 'assistant': {
      const calls = message.toolCalls ?? [];
      if (calls.length === 0) return { role: 'assistant', content };
      return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls.map(callOf) };
    }
    default:
      return { role: message.role, content };
  }
}

function callOf({ id, name, arguments: text }: ModelToolCall) {
  return { id, type: 'function' as const, function: { name: nameOf(name), arguments: argumentsOf(text) } };
}

const NO_NAME_CHARACTER = /[^a-zA-Z0-9_-]/g;
const MAX_NAME = 64;

/**
 * Returns a name that the API takes for one that the model has made up, such as `multi_tool_use.parallel`. The API would
 * otherwise refuse every later request of the conversation.
 */
function nameOf(name: string): string {
  return name.replace(NO_NAME_CHARACTER, '_').slice(0, MAX_NAME) || '_';
}

/**
 * Wraps arguments that are not a JSON object. Providers that parse them would otherwise refuse every later request of
 * the conversation.
 */
function argumentsOf(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return text;
  } catch {
    // Wrapped below.
  }
  return JSON.stringify({ malformed_arguments: plain(text) });
}

/** Replaces characters that the JSON parsers of some servers refuse. */
function plain(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd').replaceAll('\0', ' ');
}
