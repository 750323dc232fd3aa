import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection, StoredRecord } from '@commonplace/kit/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { countBoth, countSteadily, countUnreadIn, headsOf, membershipsOf } from '../src/conversations/counts.js';
import { type MessageRecord, mentionCollection, messageCollection } from '../src/conversations/message-records.js';
import {
  type HeadRecord,
  headCollection,
  type MemberRecord,
  memberCollection,
  memberId,
} from '../src/conversations/records.js';

const CONVERSATIONS = 120;
const TIME = '2026-01-01T00:00:00.000Z';

let database: TestDatabase;
let reads = 0;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

/** Returns a collection that counts what is read from it. */
function counted<T extends StoredRecord>(collection: Collection<T>): Collection<T> {
  const wrap = (value: unknown) =>
    typeof value !== 'function'
      ? value
      : (...about: unknown[]) => {
          reads++;
          return value(...about);
        };
  return Object.fromEntries(Object.entries(collection).map(([name, value]) => [name, wrap(value)])) as never;
}

function headOf(at: number): Omit<HeadRecord, 'version'> {
  const numbers = { lastSeq: 20, firstSeq: 1, lastUncountedSeq: at % 2 === 0 ? 15 : 0, lastMentionSeq: 0 };
  return { id: `c${at}`, tenant: 't', ...numbers, lastMessageAt: TIME, deletedCount: 0, epoch: 1 } as never;
}

function memberOf(at: number): Omit<MemberRecord, 'version'> {
  const marker = { lastReadSeq: at % 7, visibleFromSeq: 1, lastOwnSeq: at % 3 === 0 ? 10 : 0 };
  const about = { conversationId: `c${at}`, principalId: 'u', kind: 'user', isActive: true, rank: 2 };
  return { id: memberId(`c${at}`, 'u'), tenant: 't', ...about, ...marker } as never;
}

function messagesOf(at: number): Omit<MessageRecord, 'version'>[] {
  return Array.from({ length: 20 }, (_, n) => {
    const seq = n + 1;
    const by = {
      authorId: seq === 10 && at % 3 === 0 ? 'u' : 'other',
      ...(seq > 13 && seq < 16 && { uncountedSeq: seq }),
    };
    return { id: `c${at}:${seq}`, tenant: 't', conversationId: `c${at}`, seq, ...by } as never;
  });
}

test('deleted and own messages of many conversations are counted in few reads', async () => {
  const store = database.store('messaging');
  const plain = {
    heads: await store.collection(headCollection),
    members: await store.collection(memberCollection),
    messages: await store.collection(messageCollection),
    mentions: await store.collection(mentionCollection),
  };
  const unit = store.begin();
  for (let at = 0; at < CONVERSATIONS; at++) {
    unit.insert(plain.heads, headOf(at));
    unit.insert(plain.members, memberOf(at));
    for (const message of messagesOf(at)) unit.insert(plain.messages, message);
  }
  await unit.commit();
  const parts = {
    heads: counted(plain.heads),
    members: counted(plain.members),
    messages: counted(plain.messages),
    mentions: counted(plain.mentions),
  };
  const breathe = createBreathe();
  const memberships = await membershipsOf(parts.members, 'u');
  const ids = memberships.map(({ conversationId }) => conversationId);
  const heads = await headsOf(parts.heads, ids, breathe);
  const counts = await countUnreadIn(parts, { memberships, heads, readAt: Date.now() }, breathe);
  expect(reads).toBeLessThan(20);
  for (const id of ids) {
    const steady = await countSteadily(plain, id, 'u', (head, member) => countBoth(plain, head, member));
    expect([id, counts.get(id)]).toEqual([id, steady?.counted.unreadCount]);
  }
});
