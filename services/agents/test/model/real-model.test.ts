// Runs against a real small model, which `npm run test:chat-model` serves: protocol and flow, never what it says.
import { openGuard } from '@commonplace/kit/fetch';
import { describe, expect, test } from '@jest/globals';
import { chatModelContract, eventsOf, textOf } from '../../src/models/contract.js';
import { parseModelList } from '../../src/models/model-list.js';
import { openOpenAiModel } from '../../src/models/openai/model.js';
import type { ChatModel, ModelRequest } from '../../src/models/port.js';

const url = process.env.COMMONPLACE_TEST_CHAT_MODEL_URL ?? 'http://127.0.0.1:1/v1';
const LIMITS = { apiKey: undefined, timeoutMs: 120_000, idleMs: 60_000 };

function open(): ChatModel {
  const list = [{ id: 'smollm2', context_tokens: 4096, max_output_tokens: 256, supports_output_schema: true }];
  const [model] = parseModelList(JSON.stringify(list));
  const guard = openGuard({ allowlist: [new URL(url).hostname], idleMs: LIMITS.timeoutMs });
  return openOpenAiModel(model as NonNullable<typeof model>, {
    url,
    ...LIMITS,
    guard,
    stop: new AbortController().signal,
  });
}

const request: ModelRequest = {
  messages: [{ role: 'user', content: 'List the first six letters of the alphabet.' }],
  tools: [],
  maxOutputTokens: 200,
  temperature: 0,
};

chatModelContract('a real model', { open, request, maxChars: 2000 });

describe('a real model', () => {
  test('refuses a prompt that is too long', async () => {
    const messages = [{ role: 'user' as const, content: 'word '.repeat(10_000) }];
    await expect(eventsOf(open(), { ...request, messages })).rejects.toMatchObject({ name: 'ContextTooLong' });
  });

  test('follows a schema', async () => {
    const outputSchema = {
      type: 'object',
      properties: { colour: { enum: ['red', 'blue'] } },
      required: ['colour'],
      additionalProperties: false,
    };
    const messages = [{ role: 'user' as const, content: 'Name a colour as JSON.' }];
    const text = textOf(await eventsOf(open(), { ...request, messages, outputSchema }));
    expect(['red', 'blue']).toContain(JSON.parse(text).colour);
  });
});
