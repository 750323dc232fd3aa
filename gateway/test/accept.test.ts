import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { asksFor } from '../src/accept.js';

const STREAM = 'text/event-stream';

test.each([
  [STREAM, true],
  ['application/json, text/event-stream', true],
  ['text/event-stream;q=0.5, application/json', true],
  ['text/event-stream; charset=utf-8', true],
  ['TEXT/Event-Stream', true],
  ['text/event-stream;q=0', false],
  ['application/json, text/event-stream; q=0.0', false],
  ['text/event-streams', false],
  ['x-text/event-stream', false],
  ['application/json', false],
  ['text/*', false],
  ['*/*', false],
  ['', false],
])('Accept: %s', (accept, expected) => {
  const request = { headers: { accept }, socket: {} } as unknown as IncomingMessage;
  expect(asksFor(new Koa().createContext(request, {} as ServerResponse), STREAM)).toBe(expected);
});

test('no Accept asks for no media type', () => {
  const request = { headers: {}, socket: {} } as unknown as IncomingMessage;
  expect(asksFor(new Koa().createContext(request, {} as ServerResponse), STREAM)).toBe(false);
});
