import type { ChatCompletionCreateParams, ChatCompletionMessageParam } from 'openai/resources/chat/completions';

/** Every parameter of the vendor's description; the type refuses this table when one is missing. */
const PARAMETERS = {
  messages: true,
  model: true,
  audio: true,
  frequency_penalty: true,
  function_call: true,
  functions: true,
  logit_bias: true,
  logprobs: true,
  max_completion_tokens: true,
  max_tokens: true,
  metadata: true,
  modalities: true,
  moderation: true,
  n: true,
  parallel_tool_calls: true,
  prediction: true,
  presence_penalty: true,
  prompt_cache_key: true,
  prompt_cache_options: true,
  prompt_cache_retention: true,
  reasoning_effort: true,
  response_format: true,
  safety_identifier: true,
  seed: true,
  service_tier: true,
  stop: true,
  store: true,
  stream: true,
  stream_options: true,
  temperature: true,
  tool_choice: true,
  tools: true,
  top_logprobs: true,
  top_p: true,
  user: true,
  verbosity: true,
  web_search_options: true,
} satisfies Record<keyof ChatCompletionCreateParams, true>;

const ROLES: ReadonlySet<unknown> = new Set<ChatCompletionMessageParam['role']>([
  'developer',
  'system',
  'user',
  'assistant',
  'tool',
  'function',
]);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Why a request is refused, in the vendor's form. */
export interface Refusal {
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}

const refuse = (message: string, param: string | null = null, code: string | null = null): Refusal => ({
  message,
  param,
  code,
});

/** Reads a request as strictly as the vendor does. */
export function readRequest(body: string): ChatCompletionCreateParams | Refusal {
  let request: Record<string, unknown>;
  try {
    request = JSON.parse(body);
  } catch {
    return refuse('We could not parse the JSON body of your request.');
  }
  const unknown = Object.keys(request).find((name) => !(name in PARAMETERS));
  if (unknown !== undefined) return refuse(`Unknown parameter: '${unknown}'.`, unknown, 'unknown_parameter');
  if (typeof request.model !== 'string' || request.model === '') return refuse('you must provide a model parameter');
  const wrong = wrongLimit(request) ?? wrongTools(request.tools) ?? wrongMessages(request.messages);
  return wrong ?? (request as unknown as ChatCompletionCreateParams);
}

export function isRefusal(read: ChatCompletionCreateParams | Refusal): read is Refusal {
  return !('messages' in read);
}

function wrongLimit({
  max_tokens: old,
  max_completion_tokens: now,
  stream,
  stream_options: options,
}: Record<string, unknown>) {
  if (old && now) {
    return refuse('max_tokens and max_completion_tokens cannot both be set.', 'max_tokens');
  }
  const limit = old ?? now ?? 1;
  if (!Number.isInteger(limit) || (limit as number) < 1) return refuse('max_tokens is too small', 'max_tokens');
  if (options && stream !== true) {
    return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options');
  }
  return undefined;
}

function wrongTools(tools: unknown): Refusal | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return refuse("[] is too short - 'tools'", 'tools');
  for (const { type, function: named } of tools) {
    if (type !== 'function' || !TOOL_NAME.test(named?.name)) return refuse("Invalid 'tools'", 'tools', 'invalid_value');
  }
  return undefined;
}

/** Every call needs exactly one answer, right behind the message that asked for it. */
function wrongMessages(messages: unknown): Refusal | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return refuse("[] is too short - 'messages'", 'messages');
  const open = new Set<string>();
  for (const [i, message] of messages.entries()) {
    const at = `messages.[${i}]`;
    if (!ROLES.has(message?.role)) return refuse(`Invalid value for '${at}.role'`, at);
    if (message.role === 'tool') {
      if (open.delete(message.tool_call_id)) continue;
      return refuse("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.", at);
    }
    if (open.size > 0) break;
    if (message.role !== 'assistant' && typeof message.content !== 'string' && !Array.isArray(message.content)) {
      return refuse(`Invalid value for 'content': expected a string, got ${typeof message.content}.`, at);
    }
    for (const { id, function: called } of message.tool_calls ?? []) {
      if (!TOOL_NAME.test(called?.name)) {
        return refuse(`Invalid '${at}.tool_calls': a name does not match '${TOOL_NAME.source}'.`, at, 'invalid_value');
      }
      open.add(id);
    }
  }
  if (open.size === 0) return undefined;
  const text =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
  return refuse(text, 'messages');
}

export function textOf({ content }: ChatCompletionMessageParam): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => ('text' in part ? part.text : '')).join('');
}
