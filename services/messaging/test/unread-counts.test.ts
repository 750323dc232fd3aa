import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { createBreathe } from '@commonplace/kit/slices';
import type { Collection, StoredRecord } from '@commonplace/kit/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { allCounts, countSteadily, countUnreadIn, headsOf, membershipsOf } from '../src/conversations/counts.js';
import {
  type MentionRecord,
  type MessageRecord,
  mentionCollection,
  mentionKey,
  messageCollection,
} from '../src/conversations/message-records.js';
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
  const numbers = {
    lastSeq: 20,
    firstSeq: 1,
    lastUncountedSeq: at % 2 === 0 ? 15 : 0,
    lastMentionSeq: at % 5 === 0 ? 12 : 0,
  };
  return { id: `c${at}`, tenant: 't', ...numbers, lastMessageAt: TIME, deletedCount: 2, epoch: 1 } as never;
}

function memberOf(at: number): Omit<MemberRecord, 'version'> {
  const marker = { lastReadSeq: at % 7, visibleFromSeq: at % 4 === 0 ? 3 : 1, lastOwnSeq: at % 3 === 0 ? 10 : 0 };
  const about = { conversationId: `c${at}`, principalId: 'u', kind: 'user', isActive: true, rank: 2 };
  return { id: memberId(`c${at}`, 'u'), tenant: 't', ...about, ...marker } as never;
}

function messagesOf(at: number): Omit<MessageRecord, 'version'>[] {
  return Array.from({ length: 20 }, (_, n) => {
    const seq = n + 1;
    const by = {
      authorId: seq === 10 && at % 3 === 0 ? 'u' : 'other',
      ...(seq > 13 && seq < 16 && { uncountedSeq: seq, deletedSeq: seq }),
    };
    return { id: `c${at}:${seq}`, tenant: 't', conversationId: `c${at}`, seq, ...by } as never;
  });
}

interface Stores {
  readonly heads: Collection<HeadRecord>;
  readonly members: Collection<MemberRecord>;
  readonly messages: Collection<MessageRecord>;
  readonly mentions: Collection<MentionRecord>;
}
let plain: Stores;
let parts: Stores;

beforeAll(async () => {
  const store = database.store('messaging');
  plain = {
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
    const mention = { key: mentionKey(`c${at}`, 'u'), seq: 12, authorId: 'other' };
    if (at % 5 === 0) unit.insert(plain.mentions, { id: `c${at}:m`, tenant: 't', ...mention } as never);
  }
  await unit.commit();
  parts = {
    heads: counted(plain.heads),
    members: counted(plain.members),
    messages: counted(plain.messages),
    mentions: counted(plain.mentions),
  };
});

test('deleted and own messages of many conversations are counted in few reads', async () => {
  const breathe = createBreathe();
  reads = 0;
  const memberships = await membershipsOf(parts.members, 'u');
  const ids = memberships.map(({ conversationId }) => conversationId);
  const heads = await headsOf(parts.heads, ids, breathe);
  const counts = await countUnreadIn(parts, { memberships, heads, readAt: Date.now() }, breathe);
  expect(reads).toBeLessThan(20);
  for (const [id, { unreadCount }] of await countOneByOne(memberships)) {
    expect([id, counts.get(id)]).toEqual([id, unreadCount]);
  }
});

test('all counts of a page of conversations are made in few reads', async () => {
  const memberships = await membershipsOf(plain.members, 'u');
  reads = 0;
  const counts = await countSteadily(parts, memberships, allCounts, createBreathe());
  expect(reads).toBeLessThan(20);
  for (const [id, one] of await countOneByOne(memberships)) expect([id, counts.get(id)?.counted]).toEqual([id, one]);
  // Of 20 messages the first 3 are read and the first 2 hidden, number 10 is the member's own, 14 and 15 are deleted.
  expect(counts.get('c60')?.counted).toEqual({ unreadCount: 13, mentionCount: 1, messageCount: 16 });
});

test('a conversation is counted again when a message is removed meanwhile', async () => {
  const member = (await plain.members.get(memberId('c3', 'u'))) as MemberRecord;
  let removals = 0;
  const countEach: typeof plain.messages.countEach = async (wheres) => {
    const counts = await plain.messages.countEach(wheres);
    if (removals++ > 0) return counts;
    const unit = database.store('messaging').begin();
    const head = (await unit.get(plain.heads, 'c3')) as HeadRecord;
    unit.replace(plain.heads, head, { ...head, deletedCount: 3, epoch: 2 });
    await unit.commit();
    return counts;
  };
  const racing = { ...plain, messages: { ...plain.messages, countEach } };
  const counts = await countSteadily(racing, [member], allCounts, createBreathe());
  expect(counts.get('c3')?.counted.messageCount).toBe(17);
  expect(removals).toBe(2);
});

/** Returns the counts of conversations, each made by itself. */
async function countOneByOne(memberships: readonly MemberRecord[]) {
  const counts = memberships.map(async (member) => {
    const alone = await countSteadily(plain, [member], allCounts, createBreathe());
    return [member.conversationId, alone.get(member.conversationId)?.counted ?? fail()] as const;
  });
  return Promise.all(counts);
}

function fail(): never {
  throw new Error('A conversation was not counted.');
}
