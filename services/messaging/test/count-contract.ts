import type { Caller } from '@commonplace/kit/auth';
import type { Store } from '@commonplace/kit/store';
import { effort } from '@commonplace/kit/testing';
import { ConversationType } from '@commonplace/proto/messaging/v1/conversation.js';
import { MentionType } from '@commonplace/proto/messaging/v1/message.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ModelConversation, randomNumbers, totalUnread } from './talk-model.js';
import { keyOf, newPlace, openTalkStage, type TalkStage } from './talk-stage.js';

const SEED = Number(process.env.COMMONPLACE_MODEL_SEED ?? 20261123);
/** The amount of work on a store. */
export interface CountSample {
  /** Random operations. */
  readonly operations: number;
  /** Messages of each of fifty writers, of which each is a notification of the others. */
  readonly messages: number;
}

export interface CountHarness {
  /** The store to run on; SQLite if it is undefined. */
  readonly store: Store | undefined;
  close(): Promise<void>;
}

const DAY_MS = 24 * 3600 * 1000;
const PEOPLE = 6;
const RETENTIONS = [undefined, 2, undefined, 5];

/** Tests on every store that numbers and counts equal those of a model after each of many random operations. */
export function countContract(
  name: string,
  { operations: usual, messages }: CountSample,
  open: () => Promise<CountHarness>,
): void {
  const count = effort(usual);
  const each = effort(messages);
  describe(`counts on ${name}`, () => {
    let stage: TalkStage;
    let harness: CountHarness;
    const before = process.env.COMMONPLACE_MENTION_ALL_SECONDS;

    beforeAll(async () => {
      process.env.COMMONPLACE_MENTION_ALL_SECONDS = '0';
      harness = await open();
      stage = await openTalkStage([], undefined, harness.store);
    }, 60_000);
    afterAll(async () => {
      await stage.close();
      await harness.close();
      if (before === undefined) delete process.env.COMMONPLACE_MENTION_ALL_SECONDS;
      else process.env.COMMONPLACE_MENTION_ALL_SECONDS = before;
    }, 60_000);

    test(
      'unread, mention and total counts match a model after each of many random operations',
      async () => {
        const random = randomNumbers(SEED);
        const pick = <T>(all: readonly T[]): T => all[random(all.length)] as T;
        const place = newPlace();
        const people = Array.from({ length: PEOPLE }, (_, at) => stage.person(`Person ${at}`));
        for (const one of people) stage.join(one, place);
        const byId = new Map(people.map((one) => [one.userId, one]));
        const callerOf = (id: string) => byId.get(id) as Caller;
        const all: ModelConversation[] = [];
        for (const [at, days] of RETENTIONS.entries()) {
          const owner = people[at] as Caller;
          const { id } = await stage.create(owner, {
            type: ConversationType.GROUP,
            workspaceId: place.workspaceId,
            name: `Group ${at}`,
            memberIds: people.map(({ userId }) => userId),
          });
          const model = new ModelConversation(id, owner.userId, days);
          for (const { userId } of people) model.join(userId);
          if (days !== undefined) await stage.set(owner, id, ['retention_days'], { retentionDays: days });
          all.push(model);
        }
        let day = 0;

        function someMentions(conversation: ModelConversation, author: string) {
          const mentions = new Set<string>();
          if (random(3) === 0) mentions.add(pick(conversation.active()));
          if (random(8) === 0) mentions.add(pick(conversation.active()));
          if (author === conversation.owner && random(10) === 0) mentions.add('*');
          const given = [...mentions].map((id) =>
            id === '*' ? { type: MentionType.ALL } : { type: MentionType.USER, id },
          );
          return { mentions, given };
        }

        async function post(conversation: ModelConversation): Promise<void> {
          const author = pick(conversation.active());
          const { mentions, given } = someMentions(conversation, author);
          const byKey = random(4) === 0;
          const caller = byKey ? keyOf(callerOf(author)) : callerOf(author);
          const sent = await stage.send(caller, conversation.id, { text: `Message ${day}`, mentions: given });
          expect(sent.seq).toBe(conversation.post(sent.id, author, mentions, day, !byKey));
        }

        /** Messages that a member can see and that were not deleted. */
        const live = (conversation: ModelConversation, person: string) =>
          conversation.messages.filter(
            ({ seq, isDeleted }) => !isDeleted && seq >= conversation.member(person).visibleFrom,
          );

        async function edit(conversation: ModelConversation): Promise<void> {
          const author = pick(conversation.active());
          const own = live(conversation, author).filter((message) => message.author === author);
          if (own.length === 0) return;
          const message = pick(own.slice(-10));
          const { mentions, given } = someMentions(conversation, author);
          await stage.edit(callerOf(author), conversation.id, message.id, ['mentions'], { mentions: given });
          message.mentions = mentions;
        }

        async function erase(conversation: ModelConversation): Promise<void> {
          const person = pick(conversation.active());
          const mine = live(conversation, person).filter(
            ({ author }) => author === person || person === conversation.owner,
          );
          if (mine.length === 0) return;
          const message = pick(mine.slice(-10));
          await stage.erase(callerOf(person), conversation.id, message.id);
          message.isDeleted = true;
        }

        async function read(conversation: ModelConversation): Promise<void> {
          const person = pick(conversation.active());
          const member = conversation.member(person);
          if (random(2) === 0) {
            await stage.read(callerOf(person), conversation.id);
            member.marker = Math.max(member.marker, conversation.lastSeq);
            return;
          }
          const seq = random(conversation.lastSeq + 3);
          const answer = await stage.read(callerOf(person), conversation.id, { seq });
          member.marker = Math.max(member.marker, Math.min(seq, conversation.lastSeq));
          expect(answer).toMatchObject({
            lastReadSeq: member.marker,
            unreadCount: conversation.unread(person),
            mentionCount: conversation.mentions(person),
          });
        }

        async function markUnread(conversation: ModelConversation): Promise<void> {
          const person = pick(conversation.active());
          const member = conversation.member(person);
          const seq = random(conversation.lastSeq + 1);
          await stage.read(callerOf(person), conversation.id, { seq, markUnread: true });
          member.marker = Math.min(member.marker, Math.max(0, seq - 1));
        }

        async function mute(conversation: ModelConversation): Promise<void> {
          const person = pick(conversation.active());
          const member = conversation.member(person);
          member.isMuted = !member.isMuted;
          await stage.set(callerOf(person), conversation.id, ['is_muted'], { isMuted: member.isMuted });
        }

        async function leave(conversation: ModelConversation): Promise<void> {
          const person = pick(conversation.active());
          if (person === conversation.owner) return;
          await stage.leave(callerOf(person), conversation.id);
          conversation.member(person).isActive = false;
        }

        async function join(conversation: ModelConversation): Promise<void> {
          const gone = [...conversation.members.keys()].filter((person) => !conversation.member(person).isActive);
          if (gone.length === 0) return;
          const person = pick(gone);
          const shareHistory = random(2) === 0;
          await stage.add(callerOf(conversation.owner), conversation.id, { userId: person, shareHistory });
          conversation.join(person, shareHistory);
        }

        async function archive(conversation: ModelConversation): Promise<void> {
          conversation.isArchived = true;
          await stage.update(callerOf(conversation.owner), conversation.id, ['is_archived'], { isArchived: true });
          await compare(conversation, conversation.owner);
          conversation.isArchived = false;
          await stage.update(callerOf(conversation.owner), conversation.id, ['is_archived'], { isArchived: false });
        }

        async function expire(): Promise<void> {
          day++;
          stage.wait(DAY_MS + 1);
          for (const conversation of all) {
            await stage.expire(conversation.id);
            conversation.expire(day);
          }
        }

        async function compare(conversation: ModelConversation, person: string): Promise<void> {
          const found = await stage.counts(callerOf(person), conversation.id);
          expect(found).toEqual({
            lastReadSeq: conversation.member(person).marker,
            unreadCount: conversation.unread(person),
            mentionCount: conversation.mentions(person),
            totalUnread: totalUnread(all, person),
          });
        }

        const operations = [
          ...[post, post, post, post, post, post],
          ...[edit, erase, erase, read, read, markUnread, mute, leave, join, join, archive],
        ];
        for (let step = 0; step < count; step++) {
          const conversation = pick(all);
          if (random(60) === 0) await expire();
          else await pick(operations)(conversation);
          for (const person of [pick(conversation.active()), conversation.owner]) await compare(conversation, person);
          if (step % 100 > 0) continue;
          for (const { userId } of people) {
            const listed = await stage.list(callerOf(userId));
            const mine = all.filter(({ members }) => members.get(userId)?.isActive);
            expect(listed.totalUnread).toBe(totalUnread(all, userId));
            expect(
              new Map(
                listed.items.map(({ id, unreadCount, mentionCount, messageCount }) => [
                  id,
                  [unreadCount, mentionCount, messageCount],
                ]),
              ),
            ).toEqual(
              new Map(mine.map((one) => [one.id, [one.unread(userId), one.mentions(userId), one.visible(userId)]])),
            );
          }
        }
      },
      60_000 + count * 500,
    );

    test('fifty concurrent writers get the numbers from 1 on, each once, and each member counts them', async () => {
      const place = newPlace();
      const people = Array.from({ length: 50 }, (_, at) => stage.person(`Writer ${at}`));
      for (const one of people) stage.join(one, place);
      const [owner, ...others] = people as [Caller, ...Caller[]];
      const { id } = await stage.create(owner, {
        ...{ type: ConversationType.GROUP, workspaceId: place.workspaceId, name: 'Crowd' },
        memberIds: others.map(({ userId }) => userId),
      });
      const seqs = await Promise.all(
        people.map(async (person) => {
          const mine: number[] = [];
          for (let at = 0; at < each; at++) mine.push((await stage.send(keyOf(person), id, `${at}`)).seq);
          return mine;
        }),
      );
      for (const mine of seqs) expect(mine).toEqual([...mine].sort((a, b) => a - b));
      const total = people.length * each;
      expect(seqs.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, at) => at + 1));
      for (const person of [owner, others[0] as Caller]) {
        expect(await stage.counts(person, id)).toMatchObject({ unreadCount: total - each });
      }
    }, 120_000);
  });
}
