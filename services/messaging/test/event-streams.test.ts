import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '@commonplace/kit/auth';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { eventually, openTurns } from '@commonplace/kit/testing';
import { contracts } from '@commonplace/platform/contracts';
import { SCOPES_OF } from '@commonplace/platform/public-events';
import { ConversationType } from '@commonplace/proto/messaging/v1/conversation.js';
import {
  CreateConversationRequest,
  UpdateConversationRequest,
} from '@commonplace/proto/messaging/v1/conversation_service.js';
import {
  type EventMessage,
  ListEventsRequest,
  WatchEventsRequest,
} from '@commonplace/proto/messaging/v1/event_stream_service.js';
import { SendMessageRequest } from '@commonplace/proto/messaging/v1/message_service.js';
import { ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { streamEventCollection } from '../src/events/records.js';
import { View } from '../src/events/view.js';
import { eventOf, openTestStage, type TestStage } from './stage.js';

const ALL_SCOPES = [...new Set(Object.values(SCOPES_OF).flat())];

let stage: TestStage;
let orgId: string;
let workspaceId: string;
let anna: Caller;
const open: Reader[] = [];

beforeAll(async () => {
  process.env.COMMONPLACE_EVENT_STREAM_BUFFER = '20';
  stage = await openTestStage();
  delete process.env.COMMONPLACE_EVENT_STREAM_BUFFER;
}, 60_000);

afterAll(() => stage.close());

beforeEach(() => {
  orgId = newId();
  workspaceId = newId();
  anna = memberOf(orgId);
});

afterEach(async () => {
  stage.go();
  for (const reader of open.splice(0)) await reader.close();
});

function memberOf(org: string, scopes: readonly string[] = ALL_SCOPES, role = OrgRole.MEMBER): Caller {
  const person = stage.person('Anna', { orgId: org });
  stage.join(person.userId, workspaceId, 'Place', org, role);
  return { ...person, credential: { ...person.credential, scopes } };
}

/** Creates a resource that people may read, and returns its id. */
function page(...readers: Caller[]): string {
  const id = newId();
  stage.setWorkspace(id, workspaceId);
  for (const { userId } of readers) stage.show(userId, id, 'Page');
  return id;
}

function changed(type: string, ids: readonly string[], more: object = {}): DomainEvent {
  const data = { resourceIds: ids, workspaceId, changedFields: ['name'], version: 2, contentVersion: 1, ...more };
  const event = eventOf(`resources.${type}`, data, { tenant: orgId });
  return { ...event, subject: ids[0] as string, time: new Date(stage.now()).toISOString() };
}

/** One event as clients see it. */
interface Seen {
  readonly id: string;
  readonly name: string;
  readonly eventId: string;
  readonly data: Record<string, unknown>;
}

interface Reader {
  readonly seen: Seen[];
  readonly ended: Promise<string>;
  /** Waits until the stream has sent so many events, including its first position and resets. */
  has(count: number): Promise<Seen[]>;
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

async function watch(
  caller: Caller,
  fields: Partial<WatchEventsRequest> = {},
  onEvent: () => void = () => {},
): Promise<Reader> {
  const abort = new AbortController();
  const options = { ...(await stage.stage.as(caller)), signal: abort.signal, deadline: Date.now() + 60_000 };
  const client = stage.stage.host.client(contracts.eventStreams);
  const seen: Seen[] = [];
  let gate = Promise.resolve();
  let openGate = () => {};
  const ended = (async () => {
    try {
      const request = { ...WatchEventsRequest.fromPartial({}), ...fields };
      for await (const message of client.watchEvents(request, options)) {
        const event = seenOf(message);
        if (event !== undefined) {
          seen.push(event);
          onEvent();
        }
        await gate;
      }
      return 'ended';
    } catch (error) {
      return abort.signal.aborted ? 'aborted' : (error as { reason: string }).reason;
    }
  })();
  const reader: Reader = {
    seen,
    ended,
    has: (count) =>
      eventually(() => {
        if (seen.length < count) throw new Error(`only ${seen.length} of ${count} events`);
        return seen;
      }),
    pause() {
      gate = new Promise((resolve) => {
        openGate = resolve;
      });
    },
    resume: () => openGate(),
    async close() {
      openGate();
      abort.abort();
      await ended;
    },
  };
  open.push(reader);
  return reader;
}

function seenOf({ id, ...fields }: EventMessage): Seen | undefined {
  const [name, event] = Object.entries(fields).find(([, value]) => value !== undefined) ?? [];
  if (name === undefined) return undefined;
  const { id: eventId = '', data } = event as { id?: string; data?: Uint8Array };
  return { id, name, eventId, data: data === undefined ? { ...event } : JSON.parse(Buffer.from(data).toString()) };
}

const list = async (caller: Caller, fields: Partial<ListEventsRequest> = {}) =>
  stage.stage.host.client(contracts.eventStreams).listEvents(
    {
      ...ListEventsRequest.fromPartial({}),
      page: { limit: 50, offset: 0, cursor: '' },
      ...fields,
    },
    await stage.stage.as(caller),
  );

const names = (reader: Reader) => reader.seen.map(({ name }) => name);

describe('a stream', () => {
  test('begins with its position, and delivers events in order with their ids', async () => {
    const id = page(anna);
    const reader = await watch(anna);
    await reader.has(1);
    const events = [changed('resource.created', [id]), changed('resource.updated', [id], { version: 3 })];
    await stage.publish(...events);
    await reader.has(3);
    expect(names(reader)).toEqual(['position', 'resourceCreated', 'resourceUpdated']);
    expect(reader.seen.slice(1).map(({ eventId }) => eventId)).toEqual(events.map((event) => event.id));
    expect(reader.seen[2]?.data).toEqual({ resource_ids: [id], changed_fields: ['name'], version: 3 });
  });

  test('delivers each event once, however often the bus delivers it', async () => {
    const id = page(anna);
    const reader = await watch(anna);
    await reader.has(1);
    const event = changed('resource.created', [id]);
    const last = changed('resource.moved', [id]);
    await stage.publish(event);
    await reader.has(2);
    const { bus } = stage.stage.own;
    await bus.publish([{ ...event }, last]);
    await reader.has(3);
    expect(names(reader)).toEqual(['position', 'resourceCreated', 'resourceMoved']);
  });

  test('lets its readers take turns, so that one event for many of them does not hold the event loop', async () => {
    const id = page(anna);
    const turns = openTurns();
    const inTurn = new Map<number, number>();
    const count = () => inTurn.set(turns.now(), (inTurn.get(turns.now()) ?? 0) + 1);
    const readers = await Promise.all(Array.from({ length: 40 }, () => watch(anna, {}, count)));
    await Promise.all(readers.map((reader) => reader.has(1)));
    inTurn.clear();
    await stage.publish(changed('resource.created', [id]));
    await Promise.all(readers.map((reader) => reader.has(2)));
    turns.end();
    expect(Math.max(...inTurn.values())).toBeLessThan(5);
  });

  test('has only the requested types, and only those of the credential’s scopes', async () => {
    const id = page(anna);
    const commentOnly = { ...anna, credential: { ...anna.credential, scopes: ['comment:read'] } };
    const [some, scoped] = [await watch(anna, { types: ['resource.moved'] }), await watch(commentOnly)];
    await Promise.all([some.has(1), scoped.has(1)]);
    const comment = { resourceId: id, workspaceId, commentId: newId(), changedFields: [], version: 1 };
    await stage.publish(
      changed('resource.created', [id]),
      changed('resource.moved', [id]),
      eventOf('resources.comment.created', comment, { tenant: orgId }),
    );
    await Promise.all([some.has(2), scoped.has(2)]);
    expect([names(some), names(scoped)]).toEqual([
      ['position', 'resourceMoved'],
      ['position', 'commentCreated'],
    ]);
    const refused = await watch(commentOnly, { types: ['comment.created', 'resource.created'] });
    expect(await refused.ended).toBe('insufficient_scope');
  });

  test('shows nothing of another tenant, or of another workspace', async () => {
    const id = page(anna);
    const other = memberOf(newId());
    const elsewhere = { ...anna, workspaceId: newId() };
    const limited: Caller = { ...anna, credential: { ...anna.credential, workspaceIds: [newId()] } };
    stage.show(other.userId, id, 'Page');
    const readers = [await watch(other), await watch(limited), await watch(anna)];
    await Promise.all(readers.map((reader) => reader.has(1)));
    await stage.publish(changed('resource.created', [id]));
    await readers[2]?.has(2);
    await stage.publish(changed('resource.moved', [id]));
    await readers[2]?.has(3);
    expect(readers.slice(0, 2).map(names)).toEqual([['position'], ['position']]);
    expect(await (await watch(elsewhere)).ended).toBe('not_found');
    expect(await (await watch(other, { workspaceId: newId() })).ended).toBe('not_found');
  });

  test('checks at each delivery what its reader can see', async () => {
    const [seen, hidden] = [page(anna), page()];
    const reader = await watch(anna);
    await reader.has(1);
    await stage.publish(changed('resource.created', [hidden]), changed('resource.created', [seen]));
    await reader.has(2);
    stage.show(anna.userId, hidden, 'Page');
    stage.hide(anna.userId, seen);
    await stage.publish(changed('resource.updated', [seen]), changed('resource.updated', [hidden]));
    await reader.has(3);
    expect(reader.seen.slice(1).map(({ data }) => data.resource_ids)).toEqual([[seen], [hidden]]);
  });

  test('names only those resources of a subtree that its reader can see', async () => {
    const [head, below, hidden] = [page(), page(anna), page()];
    const reader = await watch(anna);
    await reader.has(1);
    await stage.publish(changed('resource.moved', [head, below, hidden]));
    await reader.has(2);
    expect(reader.seen[1]?.data).toEqual({ resource_ids: [below], changed_fields: ['name'], version: null });
  });

  test('announces of a trashed resource only its trashing, and more only to people who can restore it', async () => {
    const ben = memberOf(orgId);
    const id = page(anna, ben);
    stage.giveRole(ben.userId, id, ResourceRole.EDITOR);
    const readers = [await watch(anna), await watch(ben)];
    await Promise.all(readers.map((reader) => reader.has(1)));
    stage.trash(id);
    await stage.publish(changed('resource.updated', [id]), changed('resource.trashed', [id]));
    await Promise.all([readers[0]?.has(2), readers[1]?.has(3)]);
    expect(readers.map(names)).toEqual([
      ['position', 'resourceTrashed'],
      ['position', 'resourceUpdated', 'resourceTrashed'],
    ]);
  });

  test('ends when its person leaves the Org', async () => {
    const reader = await watch(anna);
    await reader.has(1);
    stage.leaveAll(anna.userId);
    const data = { orgId, memberId: newId(), userId: anna.userId };
    await stage.publish(eventOf('tenancy.org_member.removed', data, { tenant: orgId }));
    expect(await reader.ended).toBe('not_found');
  });

  test('of a workspace that its reader visits ends with the items shared with them there', async () => {
    const visitor = stage.person('Visitor', { orgId });
    stage.join(visitor.userId, newId(), 'Elsewhere', orgId);
    const caller = { ...visitor, credential: { ...visitor.credential, scopes: ALL_SCOPES } };
    expect(await (await watch(caller, { workspaceId })).ended).toBe('not_found');
    stage.visit(caller.userId);
    stage.stop();
    const reader = await watch(caller, { workspaceId });
    await reader.has(1);
    stage.endVisit(caller.userId);
    const data = { resourceId: newId(), workspaceId, principal: `user:${caller.userId}`, role: 'viewer' };
    await stage.publish(eventOf('resources.permission.revoked', data, { tenant: orgId }));
    expect(await reader.ended).toBe('not_found');
  });

  test('of a workspace that its reader visits ends within two seconds, whatever has ended the visit', async () => {
    const visitor = stage.person('Visitor', { orgId });
    stage.join(visitor.userId, newId(), 'Elsewhere', orgId);
    const caller = { ...visitor, credential: { ...visitor.credential, scopes: ALL_SCOPES } };
    stage.visit(caller.userId);
    const reader = await watch(caller, { workspaceId });
    await reader.has(1);
    stage.endVisit(caller.userId);
    expect(await Promise.race([reader.ended, sleep(5_000)])).toBe('not_found');
  });

  test('of one conversation ends when its reader is removed, after an event about it', async () => {
    const ben = memberOf(orgId);
    const { host } = stage.stage;
    const talks = host.client(contracts.conversations);
    const before = await watch(ben);
    await before.has(1);
    const { id } = await talks.createConversation(
      CreateConversationRequest.fromPartial({ type: ConversationType.GROUP, orgId, memberIds: [ben.userId] }),
      await stage.stage.as(anna),
    );
    // The streams below begin after the event about the creation.
    await before.has(2);
    // The clock of streams is stopped, so that none checks again after a while.
    stage.stop();
    const readers = [
      await watch(ben, { conversationId: id }),
      await watch(ben, { conversationId: id, types: ['message.created'] }),
    ];
    const others = [await watch(ben), await watch(anna, { conversationId: id })];
    await Promise.all([...readers, ...others].map((reader) => reader.has(1)));
    const change = { conversationId: id, updateMask: ['remove_member_ids'], removeMemberIds: [ben.userId] };
    await talks.updateConversation(UpdateConversationRequest.fromPartial(change), await stage.stage.as(anna));
    expect(await Promise.all(readers.map(({ ended }) => ended))).toEqual(['not_found', 'not_found']);
    expect(readers.map(names)).toEqual([['position', 'conversationUpdated'], ['position']]);
    for (const other of others) expect(names({ seen: await other.has(2) } as Reader)).toContain('conversationUpdated');
  });

  test('of earlier messages has no text of those that were deleted', async () => {
    const { host } = stage.stage;
    const [talks, messages] = [host.client(contracts.conversations), host.client(contracts.messages)];
    const as = () => stage.stage.as(anna);
    const first = await watch(anna);
    const [{ id: lastEventId = '' } = {}] = await first.has(1);
    const { id: conversationId } = await talks.createConversation(
      CreateConversationRequest.fromPartial({ type: ConversationType.GROUP, orgId }),
      await as(),
    );
    const say = async (text: string) =>
      messages.sendMessage(SendMessageRequest.fromPartial({ conversationId, text }), await as());
    await say('stays');
    const { id: messageId } = await say('goes');
    const isSaid = ({ name }: Seen) => name === 'messageCreated';
    await eventually(() => expect(first.seen.filter(isSaid)).toHaveLength(2));
    await messages.deleteMessage({ conversationId, messageId }, await as());
    await eventually(() => expect(names(first)).toContain('messageDeleted'));
    stage.wait(10_000);
    const again = await watch(anna, { lastEventId });
    await eventually(() => expect(names(again)).toContain('messageDeleted'));
    expect(again.seen.filter(isSaid).map(({ data }) => data.text)).toEqual(['stays', '']);
    const { items } = await list(anna, { types: ['message.created'] });
    expect(items.map(({ data }) => JSON.parse(data.toString()).text)).toEqual(['stays', '']);
  });

  test('shares access checks with other streams', async () => {
    const id = page(anna);
    const readers = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const person = memberOf(orgId);
        stage.show(person.userId, id, 'Page');
        return watch(person);
      }),
    );
    await Promise.all(readers.map((reader) => reader.has(1)));
    stage.checks.length = 0;
    await stage.publish(changed('resource.created', [id]));
    await Promise.all(readers.map((reader) => reader.has(2)));
    expect(stage.checks.filter(({ resourceIds }) => resourceIds.includes(id))).toHaveLength(1);
  });
});

describe('changes of contents', () => {
  test('are published at once, and then at most once in ten seconds with the latest version', async () => {
    const id = page(anna);
    const reader = await watch(anna);
    await reader.has(1);
    const edit = (version: number, fields: readonly string[]) =>
      changed('content.updated', [id], { version, changedFields: fields });
    await stage.publish(edit(1, ['content']), edit(2, ['content']), edit(3, ['text']), edit(4, ['content']));
    await reader.has(2);
    await stage.publish(changed('resource.moved', [id]));
    await reader.has(3);
    expect(names(reader)).toEqual(['position', 'contentUpdated', 'resourceMoved']);
    stage.wait(10_000);
    await stage.publish(edit(4, ['content']));
    await reader.has(4);
    expect(reader.seen.slice(1).map(({ data }) => data.version)).toEqual([1, 2, 4]);
    expect(reader.seen[3]?.data.changed_fields).toEqual(['content', 'text']);
  });
});

describe('a resumed stream', () => {
  test('delivers missed events once and in order', async () => {
    const id = page(anna);
    const first = await watch(anna);
    await first.has(1);
    const events = Array.from({ length: 30 }, (_, i) => changed('resource.updated', [id], { version: i }));
    await stage.publish(...events.slice(0, 10));
    await first.has(11);
    await first.close();
    await stage.publish(...events.slice(10));
    const all = events.map((event) => event.id);
    for (const { id: lastEventId, eventId } of [...first.seen]) {
      const again = await watch(anna, { lastEventId });
      const expected = all.slice(all.indexOf(eventId) + 1);
      await again.has(expected.length);
      expect(again.seen.map((event) => event.eventId)).toEqual(expected);
      await again.close();
    }
  });

  test('continues from its first position, which it got while others were reading', async () => {
    const other = await watch(memberOf(newId()));
    await other.has(1);
    const first = await watch(anna);
    const [{ id: lastEventId = '' } = {}] = await first.has(1);
    await first.close();
    const missed = changed('resource.updated', [page(anna)]);
    await stage.publish(missed);
    const again = await watch(anna, { lastEventId });
    await again.has(1);
    expect(again.seen.map(({ eventId }) => eventId)).toEqual([missed.id]);
  });

  test('starts over if its position is not known', async () => {
    for (const lastEventId of ['1', 'not-a-place', 'A'.repeat(54), '☃']) {
      const reader = await watch(anna, { lastEventId });
      await reader.has(1);
      expect([reader.seen[0]?.name, reader.seen[0]?.data]).toEqual(['reset', { reason: 'unknown' }]);
    }
  });

  test('starts over after the resume window, and if no one has read its tenant', async () => {
    const reader = await watch(anna);
    const [{ id: lastEventId = '' } = {}] = await reader.has(1);
    const elsewhere = await watch(memberOf(newId()), { lastEventId });
    await elsewhere.has(1);
    expect(elsewhere.seen[0]?.data).toEqual({ reason: 'expired' });
    stage.wait(3_600_000 + 1_000);
    const late = await watch(anna, { lastEventId });
    await late.has(1);
    expect(late.seen[0]?.data).toEqual({ reason: 'expired' });
  });

  test('reads no further events for a client that has gone', async () => {
    const id = page(anna);
    const first = await watch(anna);
    const [{ id: lastEventId = '' } = {}] = await first.has(1);
    await first.close();
    // Many more than are read until the stream learns that its client has gone.
    const count = 4000;
    await stage.publish(...Array.from({ length: count }, (_, i) => changed('resource.updated', [id], { version: i })));
    const kept = await stage.stage.own.store.collection(streamEventCollection);
    await eventually(async () => expect(await kept.count({ tenant: orgId })).toBe(count));
    const looked = jest.spyOn(View.prototype, 'has');
    // Leaves at the first event, before the rest can have been read.
    const again: Reader = await watch(anna, { lastEventId }, () => void again.close());
    await again.ended;
    await sleep(300);
    expect(looked.mock.calls.length).toBeGreaterThan(0);
    expect(looked.mock.calls.length).toBeLessThan(count / 2);
    looked.mockRestore();
  });

  test("shows missed events according to the reader's present access", async () => {
    const [id, kept] = [page(anna), page(anna)];
    const reader = await watch(anna);
    const [{ id: lastEventId = '' } = {}] = await reader.has(1);
    await stage.publish(changed('resource.created', [id]), changed('resource.created', [kept]));
    await reader.has(3);
    stage.hide(anna.userId, id);
    const again = await watch(anna, { lastEventId });
    await again.has(1);
    expect(again.seen[0]?.data.resource_ids).toEqual([kept]);
  });
});

describe('a slow reader', () => {
  test('is disconnected, can resume, and delays no one', async () => {
    const ben = memberOf(orgId);
    const id = page(anna, ben);
    const [slow, fast] = [await watch(anna), await watch(ben)];
    await Promise.all([slow.has(1), fast.has(1)]);
    slow.pause();
    const events: DomainEvent[] = [];
    for (let i = 0; i < 60; i++) {
      events.push(changed('resource.updated', [id], { version: i }));
      await stage.publish(...events.slice(-1));
      await fast.has(i + 2);
    }
    slow.resume();
    expect(await slow.ended).toBe('ended');
    const missed = slow.seen.length - 1;
    expect(missed).toBeLessThan(60);
    const again = await watch(anna, { lastEventId: slow.seen.at(-1)?.id as string });
    await again.has(60 - missed);
    const receivedIds = [...slow.seen.slice(1), ...again.seen].map(({ eventId }) => eventId);
    expect(receivedIds).toEqual(events.map((event) => event.id));
  });
});

describe('the list', () => {
  test('contains pages of events that are kept and visible, oldest first', async () => {
    const [id, hidden] = [page(anna), page()];
    expect((await list(anna)).items).toEqual([]);
    const events = Array.from({ length: 7 }, (_, i) => changed('resource.updated', [i % 2 ? hidden : id]));
    await stage.publish(...events);
    const visible = events.filter((_, i) => i % 2 === 0).map((event) => event.id);
    await eventually(async () => expect((await list(anna)).items.map((item) => item.id)).toEqual(visible));
    const first = await list(anna, { page: { limit: 3, offset: 0, cursor: '' } });
    expect([first.items.map((item) => item.id), first.page?.hasMore]).toEqual([visible.slice(0, 3), true]);
    const rest = await list(anna, { page: { limit: 3, offset: 0, cursor: first.page?.nextCursor ?? '' } });
    expect([rest.items.map((item) => item.id), rest.page?.hasMore]).toEqual([visible.slice(3), false]);
    await expect(list(anna, { page: { limit: 3, offset: 0, cursor: 'made-up' } })).rejects.toMatchObject({
      reason: 'invalid_pagination',
    });
  });

  test('counts what there is also for an offset behind its end', async () => {
    const id = page(anna);
    expect((await list(anna)).items).toEqual([]);
    await stage.publish(...Array.from({ length: 4 }, () => changed('resource.updated', [id])));
    await eventually(async () => expect((await list(anna)).page?.total).toBe(4));
    const behind = await list(anna, { page: { limit: 3, offset: 50, cursor: '' } });
    expect([behind.items, behind.page]).toMatchObject([[], { total: 4, hasMore: false }]);
  });

  test('leads on behind many events that the caller may not see', async () => {
    const [id, hidden] = [page(anna), page()];
    expect((await list(anna)).items).toEqual([]);
    await stage.publish(...Array.from({ length: 2_100 }, () => changed('resource.updated', [hidden])));
    await stage.publish(changed('resource.updated', [id]));
    const read = async () => {
      const first = await list(anna);
      const rest = await list(anna, { page: { limit: 50, offset: 0, cursor: first.page?.nextCursor ?? '' } });
      return [first, rest];
    };
    await eventually(async () => expect((await read())[1]?.items).toHaveLength(1));
    const [first, rest] = await read();
    expect([first?.items, first?.page?.hasMore, first?.page?.nextOffset]).toEqual([[], true, undefined]);
    expect(rest?.page?.hasMore).toBe(false);
    const skipped = await list(anna, { page: { limit: 50, offset: 1_000, cursor: '' } });
    expect([skipped.items, skipped.page?.hasMore, skipped.page?.total]).toEqual([[], false, 1]);
  });
});

describe('a tenant without readers', () => {
  test('keeps no events', async () => {
    const before = await stage.stage.own.store.collection({ name: 'stream_events', indexes: [] });
    const [unread, read] = [newId(), page(anna)];
    const reader = await watch(anna);
    await reader.has(1);
    const foreign = { ...changed('resource.created', [unread]), tenant: newId() };
    await stage.publish(foreign, changed('resource.created', [read]));
    await reader.has(2);
    expect(await before.get(foreign.id)).toBeUndefined();
    expect(await before.get(reader.seen[1]?.eventId as string)).toBeDefined();
  });
});
