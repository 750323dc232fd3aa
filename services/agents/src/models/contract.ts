import { getEventListeners, setMaxListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ChatModel, ModelEvent, ModelRequest } from './port.js';

/** The parts of an adapter that the suite needs. */
interface Subject {
  /** Opens the model. Its default reply is a text of several pieces. */
  open(): Promise<ChatModel> | ChatModel;
  close?(): Promise<void>;
  /** A request whose default reply has at least three pieces and ten tokens. */
  readonly request: ModelRequest;
  /** Maximum characters of a text that the model accepts; the suite cuts longer ones. */
  readonly maxChars?: number;
  /** Returns the number of calls of the model so far; undefined for a model in the process. */
  calls?(): number;
}

const WEATHER = { name: 'weather', description: 'Says how the weather is', parameters: { type: 'object' } };
const ODD = [
  '',
  ' \n ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00y',
  '🎉',
  '深度学习',
  '[1] ![](x) <b>',
  'word '.repeat(20_000),
];
const never = new AbortController().signal;
setMaxListeners(0, never);

/** Collects all events of a reply. */
export async function eventsOf(
  model: ChatModel,
  request: ModelRequest,
  signal: AbortSignal = never,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.generate(request, signal)) events.push(event);
  return events;
}

/** Returns the joined text of a reply. */
export function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

/** Tests an adapter against those duties of the port that need no particular reply. */
export function chatModelContract(name: string, subject: Subject): void {
  const { request } = subject;

  describe(`${name} keeps the duties of a chat model`, () => {
    let model: ChatModel;
    const calls = () => subject.calls?.() ?? 0;

    beforeAll(async () => {
      model = await subject.open();
    });

    afterAll(() => subject.close?.());

    test('describes itself', () => {
      const { id, name: shown, contextTokens, maxOutputTokens, rates } = model.info;
      expect([id, shown].every((text) => text.length > 0)).toBe(true);
      expect(maxOutputTokens).toBeGreaterThan(0);
      expect(contextTokens).toBeGreaterThan(maxOutputTokens);
      expect(Object.values(rates).every((rate) => Number.isSafeInteger(rate) && rate >= 0)).toBe(true);
    });

    test('a reply is texts that are not empty and then one end, with the usage', async () => {
      const events = await eventsOf(model, request);
      const end = events.pop();
      expect(end).toMatchObject({ type: 'end', reason: 'stop', receivedBytes: Buffer.byteLength(textOf(events)) });
      const { inputTokens = 0, outputTokens = 0 } = (end?.type === 'end' && end.usage) || {};
      expect(Math.min(inputTokens, outputTokens)).toBeGreaterThan(0);
      expect(events.length).toBeGreaterThan(2);
      expect(events.every((event) => event.type === 'text' && event.text !== '')).toBe(true);
    });

    test('nothing is called before the first event is asked for', async () => {
      const before = calls();
      const reply = model.generate(request, never)[Symbol.asyncIterator]();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(calls()).toBe(before);
      await reply.next();
      await reply.return?.();
    });

    test('a reply is not longer than the request allows', async () => {
      const events = await eventsOf(model, { ...request, maxOutputTokens: 5 });
      expect(events.at(-1)).toMatchObject({ type: 'end', reason: 'length' });
      const whole = textOf(await eventsOf(model, request));
      expect(whole.startsWith(textOf(events))).toBe(true);
      expect(textOf(events).length).toBeLessThan(whole.length);
    });

    test('a signal that was aborted before leads to an end without a call', async () => {
      const before = calls();
      const events = await eventsOf(model, request, AbortSignal.abort(new Error('no')));
      expect(events).toEqual([{ type: 'end', reason: 'aborted', receivedBytes: 0 }]);
      expect(calls()).toBe(before);
    });

    test('after an abort comes the end alone', async () => {
      const stop = new AbortController();
      const events: ModelEvent[] = [];
      for await (const event of model.generate(request, stop.signal)) {
        events.push(event);
        stop.abort();
      }
      expect(events.map(({ type }) => type)).toEqual(['text', 'end']);
      expect(events.at(-1)).toMatchObject({ reason: 'aborted' });
    });

    test('nothing listens to a signal any more, however a reply ended', async () => {
      const { signal } = new AbortController();
      await eventsOf(model, request, signal);
      for await (const _ of model.generate(request, signal)) break;
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    });

    test('many replies at once do not mix', async () => {
      const alone = textOf(await eventsOf(model, request));
      const many = await Promise.all(Array.from({ length: 20 }, () => eventsOf(model, request)));
      expect(new Set(many.map(textOf))).toEqual(new Set([alone]));
    });

    test('takes any text', async () => {
      for (const content of ODD.map((text) => text.slice(0, subject.maxChars))) {
        const passages = [{ marker: 1, name: content, text: content }];
        const messages = [{ role: 'system', content } as const, { role: 'user', content } as const];
        const events = await eventsOf(model, { ...request, messages, passages, question: content });
        expect(events.at(-1)).toMatchObject({ type: 'end', reason: expect.stringMatching(/^(stop|length)$/) });
      }
    });

    test('takes a history with calls, their results and malformed arguments', async () => {
      const messages: ModelRequest['messages'] = [
        { role: 'user', content: 'How is the weather?' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [
            { id: 'a', name: 'weather', arguments: '{"city":"Oslo"}' },
            { id: 'b', name: 'weather', arguments: '{"city":' },
          ],
        },
        { role: 'tool', toolCallId: 'a', content: 'rain' },
        { role: 'tool', toolCallId: 'b', content: 'the arguments are no JSON', isError: true },
        ...request.messages,
      ];
      const tools = model.info.supportsTools ? [WEATHER] : [];
      const events = await eventsOf(model, { ...request, messages, tools });
      expect(events.at(-1)).toMatchObject({ type: 'end', reason: 'stop' });
    });

    test('a model without tools minds none', async () => {
      if (model.info.supportsTools) return;
      expect((await eventsOf(model, { ...request, tools: [WEATHER] })).at(-1)).toMatchObject({ reason: 'stop' });
    });
  });
}
