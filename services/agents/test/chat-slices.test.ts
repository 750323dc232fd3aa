import type { Fault } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { countTurns } from '@commonplace/kit/testing';
import { expect, test } from '@jest/globals';
import type { Parts } from '../src/parts.js';
import { type GivenMessage, readMessages } from '../src/sessions/content.js';
import { addMessages, supersedeAll } from '../src/sessions/turn.js';
import type { MessageRecord } from '../src/stores/sessions.js';

const TEXT = 'A "quoted" word. '.repeat(1100).trim();

test('other requests run while many long messages of a request are read', async () => {
  const content = Buffer.from(JSON.stringify(TEXT));
  const given = Array.from({ length: 1000 }, () => ({ role: 0, content }) as never);
  const faults: Fault[] = [];
  let read: GivenMessage[] = [];
  const turns = await countTurns(async () => {
    read = await readMessages(given, 'messages', faults);
  });
  expect([read.length, faults, read.every((one) => one.content === TEXT)]).toEqual([1000, [], true]);
  expect(turns).toBeGreaterThan(5);
});

test('other requests run while many messages are added to a chat', async () => {
  const insert = (_: unknown, message: object) => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    return { ...message, version: 1 };
  };
  const session = { id: 's', tenant: 't', lastSeq: 3, messageCount: 2, title: 'New chat', isTitleGiven: true } as never;
  const given = Array.from({ length: 20 }, (_, i) => ({ role: 'user', content: `${i}`, resourceIds: [] }) as const);
  const context = { work: { insert } } as unknown as CallContext;
  let seqs: number[] = [];
  const turns = await countTurns(async () => {
    const { added, session: after } = await addMessages({} as never, session, given, true, context);
    seqs = [...added.map(({ seq }) => seq), after.lastSeq, after.messageCount];
  });
  expect(seqs).toEqual([...given.map((_, i) => 4 + i), 23, 22]);
  expect(turns).toBeGreaterThanOrEqual(given.length);
});

test('other requests run while the messages of a chat are replaced', async () => {
  const stored = Array.from({ length: 20 }, (_, i) => ({ id: `m${i}`, seq: i + 1, version: 1 }));
  const messages = { find: async () => stored.splice(0, 50) } as unknown as Parts['messages'];
  const replace = (_: unknown, __: object, after: object) => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    return after;
  };
  const work = { replace } as unknown as UnitOfWork;
  let replaced: readonly MessageRecord[] = [];
  const turns = await countTurns(async () => {
    replaced = await supersedeAll({ messages }, 's', 0, 'run', work);
  });
  expect(replaced.map(({ seq, supersededBy }) => [seq, supersededBy])).toEqual(
    Array.from({ length: 20 }, (_, i) => [i + 1, 'run']),
  );
  expect(turns).toBeGreaterThanOrEqual(20);
});
