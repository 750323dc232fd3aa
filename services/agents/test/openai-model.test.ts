import { setMaxListeners } from 'node:events';
import { openGuard } from '@commonplace/kit/fetch';
import { eventually } from '@commonplace/kit/testing';
import { type ChatServer, failures, openChatServer, type ScriptedReply } from '@commonplace/kit/testing/chat-server';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { chatModelContract, eventsOf, textOf } from '../src/models/contract.js';
import { parseModelList } from '../src/models/model-list.js';
import { type Endpoint, openOpenAiModel } from '../src/models/openai/model.js';
import type { ChatModel, ModelEvent, ModelRequest } from '../src/models/port.js';

const KEY = 'sk-secret-key';
const SECRET = 'what the person asked';
const request: ModelRequest = {
  messages: [{ role: 'user', content: `${SECRET}: how many days of vacation do employees have in a year?` }],
  tools: [],
  maxOutputTokens: 1000,
};
const TOOLS = ['read', 'search'].map((name) => ({ name, description: `Can ${name}`, parameters: { type: 'object' } }));

let server: ChatServer;
const guard = openGuard({ allowlist: ['127.0.0.1'], idleMs: 60_000 });
const stop = new AbortController();
setMaxListeners(0, stop.signal);

function open(of: object = {}, parts: Partial<Endpoint> = {}): ChatModel {
  const [model] = parseModelList(JSON.stringify([{ id: 'some-model', ...of }]));
  const endpoint = { url: server.url, apiKey: KEY, timeoutMs: 10_000, idleMs: 5000, guard, stop: stop.signal };
  return openOpenAiModel(model as NonNullable<typeof model>, { ...endpoint, ...parts });
}

beforeAll(async () => {
  server = await openChatServer({ key: KEY });
});
afterEach(() => server.reset());
afterAll(async () => {
  await server.close();
  await guard.close();
});

chatModelContract('an OpenAI-compatible endpoint', { open, request, calls: () => server.calls.length });
chatModelContract('an endpoint without streams', {
  // Whole replies are not cut into pieces, so each one has a single text.
  open: () => inPieces(open({ supports_streaming: false })),
  request,
  calls: () => server.calls.length,
});

/** Splits the texts of a model, so that the suite can end a reply between two of them. */
function inPieces(model: ChatModel): ChatModel {
  return {
    info: model.info,
    async *generate(asked, signal) {
      for await (const event of model.generate(asked, signal)) {
        if (event.type !== 'text') yield event;
        else
          for (const text of event.text.match(/\s?\S+/g) ?? [event.text])
            if (!signal.aborted) yield { type: 'text', text };
        if (signal.aborted && event.type === 'text') return yield { type: 'end', reason: 'aborted' };
      }
    },
  };
}

describe('a request', () => {
  test('contains the parameters of the model, and requests the usage', async () => {
    const model = open({ model: 'vendor/model', max_output_tokens: 50 });
    await eventsOf(model, { ...request, temperature: 0.2, tools: TOOLS, outputSchema: { type: 'object' } });
    expect(server.calls[0]?.request).toEqual({
      model: 'vendor/model',
      messages: [{ role: 'user', content: request.messages[0]?.content }],
      max_tokens: 50,
      temperature: 0.2,
      tools: TOOLS.map((tool) => ({ type: 'function', function: tool })),
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('contains the output schema if the model supports it, and no tools if it has none', async () => {
    const model = open({ supports_output_schema: true, supports_tools: false });
    await eventsOf(model, { ...request, tools: TOOLS, outputSchema: { type: 'object' } });
    expect(server.calls[0]?.request).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { name: 'output', schema: { type: 'object' } } },
    });
    expect(server.calls[0]?.request).not.toHaveProperty('tools');
  });

  test('marks a failed call, and wraps arguments that are not JSON', async () => {
    const messages: ModelRequest['messages'] = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'read', arguments: '{"id":' }] },
      { role: 'tool', toolCallId: 'a', content: 'no JSON', isError: true },
    ];
    await eventsOf(open(), { ...request, messages });
    const [assistant, result] = server.calls[0]?.request.messages ?? [];
    expect(assistant).toMatchObject({
      content: null,
      tool_calls: [{ function: { arguments: '{"malformed_arguments":"{\\"id\\":"}' } }],
    });
    expect(result).toMatchObject({ role: 'tool', content: 'Error: no JSON' });
  });

  test('sends made-up names of tools in characters that the API takes', async () => {
    const names = ['multi_tool_use.parallel', 'read<|channel|>json', 'ü'.repeat(100), '', 'read'];
    const toolCalls = names.map((name, i) => ({ id: `${i}`, name, arguments: '{}' }));
    const results = toolCalls.map(({ id }) => ({
      role: 'tool' as const,
      toolCallId: id,
      content: 'There is no such tool.',
    }));
    const messages: ModelRequest['messages'] = [{ role: 'assistant', content: '', toolCalls }, ...results];
    expect((await eventsOf(open(), { ...request, messages })).at(-1)).toMatchObject({ reason: 'stop' });
    expect(server.calls[0]?.request.messages[0]).toMatchObject({
      tool_calls: ['multi_tool_use_parallel', 'read__channel__json', '_'.repeat(64), '_', 'read'].map((name) => ({
        function: { name },
      })),
    });
  });

  test('omits parameters that the model refuses, in all later requests too', async () => {
    const strict = await openChatServer({ refuses: ['max_tokens', 'temperature', 'stream_options'] });
    const model = open({}, { url: strict.url, apiKey: undefined });
    for (let i = 0; i < 2; i++) {
      expect((await eventsOf(model, { ...request, temperature: 0 })).at(-1)).toMatchObject({ reason: 'stop' });
    }
    expect(strict.calls).toHaveLength(2);
    expect(strict.calls[0]?.request).toMatchObject({ max_completion_tokens: 1000 });
    await strict.close();
  });
});

describe('calls of tools', () => {
  const calls = (events: readonly ModelEvent[]) => events.filter(({ type }) => type === 'tool_call');

  test('arrive complete and in order after the text, with malformed arguments unchanged', async () => {
    server.next({
      text: 'Let me look.',
      toolCalls: [
        { id: 'call_a', name: 'search', arguments: { query: 'vacation "days"' } },
        { id: 'call_b', name: 'read', arguments: '{"id": ' },
        { id: 'call_c', name: 'read', arguments: '' },
      ],
    });
    const events = await eventsOf(open(), { ...request, tools: TOOLS });
    expect(textOf(events)).toBe('Let me look.');
    expect(events.slice(-4)).toEqual([
      { type: 'tool_call', id: 'call_a', name: 'search', arguments: '{"query":"vacation \\"days\\""}' },
      { type: 'tool_call', id: 'call_b', name: 'read', arguments: '{"id": ' },
      { type: 'tool_call', id: 'call_c', name: 'read', arguments: '{}' },
      expect.objectContaining({ type: 'end', reason: 'tool_calls' }),
    ]);
  });

  test('are also read from a reply in one piece', async () => {
    server.next({
      toolCalls: [
        { id: 'call_a', name: 'search', arguments: {} },
        { id: 'call_b', name: 'read' },
      ],
    });
    const events = await eventsOf(open({ supports_streaming: false }), { ...request, tools: TOOLS });
    expect(calls(events)).toMatchObject([{ id: 'call_a' }, { id: 'call_b' }]);
    expect(events.at(-1)).toMatchObject({ reason: 'tool_calls', usage: { outputTokens: expect.any(Number) } });
  });

  test('that were cut off are dropped', async () => {
    server.next({ text: 'a b', toolCalls: [{ name: 'search', arguments: { query: 'a long question' } }] });
    const events = await eventsOf(open(), { ...request, tools: TOOLS, maxOutputTokens: 4 });
    expect(events.map(({ type }) => type)).toEqual(['text', 'text', 'end']);
    expect(events.at(-1)).toMatchObject({ reason: 'length' });
  });

  const piece = (...toolCalls: object[]) => ({ choices: [{ index: 0, delta: { tool_calls: toolCalls } }] });
  const end = (reason = 'tool_calls') => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
  test.each<[string, unknown[]]>([
    [
      'interleaved',
      [
        piece({ index: 0, id: 'a', function: { name: 'read' } }, { index: 1, id: 'b', function: { name: 'search' } }),
        piece({ index: 1, function: { arguments: '{"q":' } }),
        piece({ index: 0, function: { arguments: '{"n":1}' } }),
        piece({ index: 1, function: { arguments: '2}' } }),
        end(),
      ],
    ],
    [
      'all with the index 0',
      [
        piece({ index: 0, id: 'a', function: { name: 'read', arguments: '{"n":1}' } }),
        piece({ index: 0, id: 'b', function: { name: 'search', arguments: '{"q":2}' } }),
        end(),
      ],
    ],
    [
      'without an index, pieces without an id',
      [
        piece({ id: 'a', function: { name: 'read', arguments: '{"n":' } }),
        piece({ function: { arguments: '1}' } }),
        piece({ id: 'b', function: { name: 'search', arguments: '{"q":2}' } }),
        end('stop'),
      ],
    ],
  ])('may be %s', async (_, frames) => {
    server.next({ frames });
    const events = await eventsOf(open(), { ...request, tools: TOOLS });
    expect(calls(events)).toEqual([
      { type: 'tool_call', id: 'a', name: 'read', arguments: '{"n":1}' },
      { type: 'tool_call', id: 'b', name: 'search', arguments: '{"q":2}' },
    ]);
    expect(events.at(-1)).toMatchObject({ reason: 'tool_calls' });
  });

  test('get ids if the model sends none, or sends one twice', async () => {
    server.next({
      frames: [
        piece({ index: 0, function: { name: 'read', arguments: '{}' } }),
        piece({ index: 1, id: 'x', function: { name: 'read', arguments: '{}' } }),
        piece({ index: 2, id: 'x', function: { name: 'read', arguments: '{}' } }),
        end(),
      ],
    });
    const ids = calls(await eventsOf(open(), request)).map((event) => (event.type === 'tool_call' ? event.id : ''));
    expect(new Set(ids).size).toBe(3);
    expect(ids).not.toContain('');
  });

  test('without a name make the reply invalid', async () => {
    server.next({ frames: [piece({ index: 0, id: 'a', function: { arguments: '{}' } }), end()] });
    await expect(eventsOf(open(), request)).rejects.toMatchObject({ name: 'ModelUnavailable' });
  });
});

describe('the usage', () => {
  test('is what the provider counted', async () => {
    server.next({ text: 'Hello there', usage: { inputTokens: 12, outputTokens: 3 } });
    expect((await eventsOf(open(), request)).at(-1)).toMatchObject({ usage: { inputTokens: 12, outputTokens: 3 } });
  });

  test('is absent if the provider sends none, with the bytes to estimate from', async () => {
    server.next({ text: 'Grüße', usage: 'none' });
    expect((await eventsOf(open(), request)).at(-1)).toEqual({ type: 'end', reason: 'stop', receivedBytes: 7 });
  });

  test('is the last one if every frame has one, and none if it is not a number', async () => {
    const delta = (content: string, usage: unknown) => ({ choices: [{ delta: { content } }], usage });
    const stopped = (usage?: unknown) => ({ choices: [{ delta: {}, finish_reason: 'eos' }], usage });
    const count = (n: number) => ({ prompt_tokens: 5, completion_tokens: n });
    server.next({ frames: [delta('a', count(1)), delta('b', count(2)), stopped()] });
    expect((await eventsOf(open(), request)).at(-1)).toMatchObject({ reason: 'stop', usage: { outputTokens: 2 } });
    server.next({ frames: [delta('a', { prompt_tokens: '5', completion_tokens: -1 }), stopped()] });
    expect((await eventsOf(open(), request)).at(-1)).not.toHaveProperty('usage');
  });

  test('is read after an abort if the provider ends its reply soon', async () => {
    server.next({ text: 'one two three four five six', delayMs: 10 });
    const end = await abortAfterFirstText(open());
    expect(end).toEqual({
      type: 'end',
      reason: 'aborted',
      usage: { inputTokens: expect.any(Number), outputTokens: 6 },
      receivedBytes: Buffer.byteLength('one two three four five six'),
    });
    expect(server.calls[0]?.state).toBe('answered');
  });

  test('is absent after an abort if the provider continues for longer, and the connection is closed', async () => {
    server.next({ text: 'word '.repeat(1000), delayMs: 20 });
    const end = await abortAfterFirstText(open({}, { drainMs: 100 }));
    expect(end).toMatchObject({ type: 'end', reason: 'aborted' });
    expect(end).not.toHaveProperty('usage');
    await eventuallyState('aborted');
    expect(server.billed().outputTokens).toBeLessThan(1000);
  });

  test('is waited for no longer than that after the end of a reply', async () => {
    const frames = [{ choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] }];
    server.next({ text: 'Hi', finishReason: 'stop', frames });
    expect((await eventsOf(open(), request)).at(-1)).toMatchObject({ reason: 'stop' });
  });
});

async function abortAfterFirstText(model: ChatModel): Promise<ModelEvent | undefined> {
  const aborting = new AbortController();
  const events: ModelEvent[] = [];
  for await (const event of model.generate(request, aborting.signal)) {
    events.push(event);
    aborting.abort();
  }
  expect(events.map(({ type }) => type)).toEqual(['text', 'end']);
  return events.at(-1);
}

async function eventuallyState(state: string): Promise<void> {
  await eventually(() => expect(server.calls[0]?.state).toBe(state));
}

describe('a consumer', () => {
  test('that leaves closes the connection at once', async () => {
    server.next({ text: 'word '.repeat(1000), delayMs: 10 });
    for await (const _ of open().generate(request, new AbortController().signal)) break;
    await eventuallyState('aborted');
    expect(server.billed().outputTokens).toBeLessThan(1000);
  });

  test('may take its time with an event', async () => {
    server.next({ text: 'one two three' });
    let text = '';
    for await (const event of open({}, { idleMs: 500 }).generate(request, new AbortController().signal)) {
      if (event.type === 'text') text += event.text;
      await new Promise((resolve) => setTimeout(resolve, 600));
    }
    expect(text).toBe('one two three');
  });
});

describe('a failure', () => {
  const fails = async (reply: ScriptedReply, about: object, model = open()) => {
    server.next(reply);
    const message = expect.not.stringMatching(new RegExp(`${KEY}|${SECRET}`));
    await expect(eventsOf(model, request)).rejects.toMatchObject({ message, ...about });
    expect(server.calls).toHaveLength(1);
  };
  const unavailable = { name: 'ModelUnavailable', code: 'model_unavailable', retryable: true };
  const refused = { name: 'ModelRefused', code: 'model_error', retryable: false };

  test.each<[string, ScriptedReply, object]>([
    ['too many requests', failures.tooManyRequests('7'), { ...unavailable, retryAfterMs: 7000 }],
    [
      'too many, in milliseconds',
      { ...failures.tooManyRequests(), headers: { 'retry-after-ms': '250' } },
      { retryAfterMs: 250 },
    ],
    ['a failure of the server', failures.serverError(), { ...unavailable, retryAfterMs: undefined }],
    ['overload', { status: 503, headers: { 'retry-after': 'soon' } }, { ...unavailable, retryAfterMs: undefined }],
    ['a wrong key', failures.wrongKey(), { ...refused, concerns: 'endpoint' }],
    ['no such model', { status: 404, error: { code: 'model_not_found' } }, { ...refused, concerns: 'endpoint' }],
    [
      'a budget that is spent',
      { status: 429, error: { code: 'insufficient_quota' } },
      { ...refused, concerns: 'endpoint' },
    ],
    [
      'a bad request',
      { status: 400, error: { message: `cannot read ${SECRET}` } },
      { ...refused, concerns: 'request' },
    ],
    [
      'a redirect',
      { status: 307, headers: { location: 'http://169.254.169.254/' } },
      { ...refused, concerns: 'endpoint' },
    ],
    ['a context that is too long', failures.contextTooLong(), { ...refused, name: 'ContextTooLong' }],
    [
      'a reply that would be too long',
      {
        status: 400,
        error: {
          message: "'max_tokens' is too large: 5. This model's maximum context length is 4.",
          param: 'max_tokens',
        },
      },
      { name: 'ContextTooLong' },
    ],
    [
      'a wrong value',
      { status: 400, error: { message: 'temperature must be below 1', param: 'temperature' } },
      { ...refused, concerns: 'request' },
    ],
    [
      'the same without a code',
      { status: 400, error: { message: 'prompt is too long: 9 > 8' } },
      { name: 'ContextTooLong' },
    ],
  ])('by %s', async (_, reply, about) => fails(reply, about));

  test.each<[string, ScriptedReply['fault'], object]>([
    ['the connection drops', { type: 'drop', afterTokens: 2 }, unavailable],
    ['the answer just ends', { type: 'end', afterTokens: 2 }, unavailable],
    ['a line is no JSON', { type: 'malformed', afterTokens: 2 }, unavailable],
    ['the provider reports an error', { type: 'error', afterTokens: 2 }, unavailable],
    [
      'the provider reports that it is too much',
      { type: 'error', afterTokens: 2, code: 'context_length_exceeded' },
      { name: 'ContextTooLong' },
    ],
  ])('in mid-stream, when %s', async (_, fault, about) => {
    await fails({ text: 'one two three four', ...(fault && { fault }) }, { ...about, receivedBytes: 7 });
  });

  test.each<[string, unknown[]]>([
    ['a chunk that is no object', ['text']],
    ['null', [null]],
    ['a model that failed', [{ choices: [{ delta: {}, finish_reason: 'error' }] }]],
    ['no end', [{ choices: [{ delta: { content: 'text' } }] }]],
    ['nothing', []],
  ])('by a reply with %s', async (_, frames) => fails({ frames }, unavailable));

  test('by silence before and within a reply', async () => {
    await fails(
      failures.hang(),
      { ...unavailable, message: 'the chat model has stopped sending' },
      open({}, { idleMs: 100 }),
    );
    server.reset();
    const silent = { text: 'one two', fault: { type: 'hang', afterTokens: 1 } } as const;
    await fails(silent, { ...unavailable, receivedBytes: 3 }, open({}, { idleMs: 100 }));
  });

  test('by a reply that takes too long although it continues', async () => {
    const slow = { text: 'word '.repeat(1000), delayMs: 10 };
    const about = { ...unavailable, message: 'the chat model takes too long' };
    await fails(slow, about, open({}, { timeoutMs: 200, idleMs: 150 }));
  });

  test('by a server that does not answer', async () => {
    const gone = await openChatServer();
    await gone.close();
    await expect(eventsOf(open({}, { url: gone.url }), request)).rejects.toMatchObject(unavailable);
  });

  test('by a URL that must not be called', async () => {
    const model = open({}, { url: 'http://192.168.0.1/v1' });
    await expect(eventsOf(model, request)).rejects.toMatchObject({ ...refused, concerns: 'endpoint' });
  });

  test('of a process that ends', async () => {
    const ending = new AbortController();
    server.next({ text: 'word '.repeat(1000), delayMs: 50 });
    const reply = eventsOf(open({}, { stop: ending.signal }), request);
    setTimeout(() => ending.abort(), 60);
    await expect(reply).rejects.toMatchObject({ ...unavailable, message: 'the process ends' });
    await expect(eventsOf(open({}, { stop: ending.signal }), request)).rejects.toMatchObject(unavailable);
  });
});
