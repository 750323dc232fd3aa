import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { type ChatServer, failures, openChatServer } from '../src/testing/chat-server/index.js';
import { eventually } from '../src/testing/suite/eventually.js';

let server: ChatServer;
let client: OpenAI;
const ask = (content = 'Hello', more: object = {}) => ({
  model: 'any',
  messages: [{ role: 'user' as const, content }],
  stream: true as const,
  stream_options: { include_usage: true },
  ...more,
});

beforeAll(async () => {
  server = await openChatServer({ key: 'sk' });
  client = new OpenAI({ baseURL: server.url, apiKey: 'sk', maxRetries: 0, logLevel: 'off' });
});
afterEach(() => server.reset());
afterAll(() => server.close());

describe('the scripted chat server', () => {
  test("supports the vendor's client: text, tool calls, usage, whole replies", async () => {
    const reply = { text: 'a b c', toolCalls: [{ id: 'x', name: 'read', arguments: { id: 'a long identifier' } }] };
    server.next(reply, reply);
    const streamed = await client.chat.completions.stream(ask()).finalChatCompletion();
    const whole = await client.chat.completions.create({ ...ask(), stream: false, stream_options: null });
    const call = {
      id: 'x',
      type: 'function',
      function: expect.objectContaining({ arguments: '{"id":"a long identifier"}' }),
    };
    for (const { choices, usage } of [streamed, whole]) {
      expect(choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: { content: 'a b c', tool_calls: [call] },
      });
      expect(usage?.completion_tokens).toBe(server.calls[0]?.billed.outputTokens);
    }
    expect(server.billed()).toMatchObject({ calls: 2, outputTokens: 2 * (streamed.usage?.completion_tokens ?? 0) });
  });

  test('gives each conversation its own replies in turn, then an echo', async () => {
    server.script({ match: 'cats', replies: [{ text: 'first' }, { text: 'second' }] });
    server.script({ match: 'dogs', replies: [{ text: 'woof' }] });
    const say = async (content: string) =>
      (await client.chat.completions.stream(ask(content)).finalChatCompletion()).choices[0]?.message.content;
    expect([await say('cats'), await say('dogs'), await say('cats'), await say('cats')]).toEqual([
      'first',
      'woof',
      'second',
      'You said: cats',
    ]);
  });

  test('bills the generated tokens when a client disconnects', async () => {
    server.next({ text: 'word '.repeat(500), delayMs: 20 });
    for await (const _ of await client.chat.completions.create(ask())) break;
    await eventually(() => expect(server.calls[0]?.state).toBe('aborted'));
    expect(server.billed().outputTokens).toBeLessThan(500);
  });

  test('fails as scripted', async () => {
    server.next(failures.tooManyRequests('3'));
    const error = await client.chat.completions.create(ask()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect((error as InstanceType<typeof OpenAI.RateLimitError>).headers?.get('retry-after')).toBe('3');
  });

  const assistant = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
  };
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'done' });
  test.each<[string, object]>([
    ['an unknown parameter', { colour: 'red' }],
    ['two limits', { max_tokens: 1, max_completion_tokens: 1 }],
    ['no tool in a list of tools', { tools: [] }],
    ['a call without its result', { messages: [assistant, { role: 'user', content: 'And?' }] }],
    ['a call without its result at the end', { messages: [assistant] }],
    ['a result twice', { messages: [assistant, result('a'), result('a')] }],
    ['a result without a call', { messages: [result('b')] }],
    ['an unknown role', { messages: [{ role: 'person', content: 'Hi' }] }],
  ])('refuses %s', async (_, more) => {
    await expect(client.chat.completions.create({ ...ask(), ...more } as never)).rejects.toMatchObject({ status: 400 });
    expect(server.calls).toHaveLength(0);
  });

  test('is controlled from another process', async () => {
    const base = server.url.replace('/v1', '/control');
    await fetch(`${base}/scripts`, { method: 'POST', body: JSON.stringify({ replies: [{ text: 'remote' }] }) });
    const { choices } = await client.chat.completions.stream(ask()).finalChatCompletion();
    expect(choices[0]?.message.content).toBe('remote');
    expect(await (await fetch(`${base}/calls`)).json()).toMatchObject({
      calls: [{ state: 'answered' }],
      billed: { calls: 1 },
    });
  });
});
