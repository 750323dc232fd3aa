import { setTimeout as sleep } from 'node:timers/promises';
import { missingServers } from '../mesh/servers.js';
import type { Tally } from '../tally.js';
import { type Conversation, openConversation, readMessages, readUnread, type StoredMessage } from './conversation.js';
import { type Killable, startEmbedded, startReplicas } from './killable.js';
import { Subscriber, subscriberFaults } from './subscriber.js';
import { type Written, writeMessages } from './writer.js';

const WRITERS = 50;
/** Number of streams of each writer, who has several devices open. */
const STREAMS = 4;
/** Milliseconds within which at least one more message must be sent or delivered. */
const STUCK_MS = 120_000;
/** Milliseconds to wait for messages that are delivered twice. */
const REST_MS = 3_000;
const POLL_INTERVAL_MS = 50;

/** The extent of a run. */
export interface MessageRounds {
  readonly kills: number;
  /** Number of messages of each writer. */
  readonly messages: number;
}

/**
 * Lets 50 people write to one conversation and 200 streams follow it while the only process is killed. Checks that
 * every message exists once, with the numbers 1 to N, and that every stream delivers each message once and in order.
 */
export async function soakMessages(rounds: MessageRounds, home: string, tally: Tally): Promise<void> {
  await soakOn(await startEmbedded(home), rounds, tally);
}

/** Does the same on a mesh, where each kill hits one of several gateways or of several processes of messaging. */
export async function soakMessagesOnMesh(rounds: MessageRounds, home: string, tally: Tally): Promise<void> {
  const missing = await missingServers();
  if (missing !== undefined) return tally.skip('messages on a mesh', missing);
  await soakOn(await startReplicas(home), rounds, tally);
}

async function soakOn(system: Killable, rounds: MessageRounds, tally: Tally): Promise<void> {
  const count = WRITERS * rounds.messages;
  let subscribers: Subscriber[] = [];
  try {
    const conversation = await openConversation(system, WRITERS);
    const sessions = conversation.people.map(({ session }) => session);
    subscribers = Array.from({ length: STREAMS }, () => sessions)
      .flat()
      .map((session) => new Subscriber(conversation, session));
    await untilAll(() => subscribers.filter(({ isOpen }) => isOpen).length, subscribers.length);
    const started = performance.now();
    const { written, killed, failures } = await writeUnderKills(conversation, rounds);
    const seconds = (performance.now() - started) / 1000;
    const delivered = () => subscribers.reduce((sum, { seqs }) => sum + Math.min(seqs.length, count), 0);
    await untilAll(delivered, count * subscribers.length);
    const late = (performance.now() - started) / 1000 - seconds;
    await sleep(REST_MS);
    const stored = await readMessages(conversation);
    const on = (what: string) => `messages, ${system.name}: ${what}`;
    tally.check(on('every message is acknowledged'), failures);
    tally.check(on('the numbers are 1 to N, each once'), numberFaults(stored, count));
    tally.check(on('every message exists once, with the number in its answer'), contentFaults(stored, written));
    tally.check(on('unread counts are exact'), await unreadFaults(conversation, stored));
    tally.check(
      on('every stream delivers each message once and in order'),
      subscribers.flatMap((one, i) => subscriberFaults(one, count).map((fault) => `stream ${i}: ${fault}`)),
    );
    const opened = subscribers.reduce((sum, one) => sum + one.opened, 0);
    console.log(
      `messages, ${system.name}: ${stored.length} messages of ${WRITERS} writers in ${seconds.toFixed(0)} s beside ` +
        `${killed.length} kills (${killed.join(', ')}); ${written.retries} retries, of which ${written.repeated} had been sent; ` +
        `${subscribers.length} streams, opened ${opened} times, delivered the last message ${late.toFixed(1)} s later`,
    );
  } finally {
    await Promise.all(subscribers.map((one) => one.close()));
    await system.stop();
  }
}

/** Sends all messages. The kills are distributed evenly over them. */
async function writeUnderKills(conversation: Conversation, { kills, messages }: MessageRounds) {
  const count = WRITERS * messages;
  const written: Written = { seqs: new Map(), retries: 0, repeated: 0 };
  const killed: string[] = [];
  const failures: string[] = [];
  const writing = conversation.people.map(({ session }, writer) => {
    const texts = Array.from({ length: messages }, (_, i) => `Message ${i + 1} of writer ${writer + 1}`);
    return writeMessages(conversation, session, texts, written).catch((error: Error) => {
      failures.push(`writer ${writer + 1}: ${error.message}`);
    });
  });
  let isOver = false;
  const all = Promise.all(writing).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const isDue = written.seqs.size >= ((killed.length + 1) * count) / (kills + 1);
    if (isDue && killed.length < kills) killed.push(await conversation.system.kill());
    else await sleep(POLL_INTERVAL_MS);
  }
  await all;
  return { written, killed, failures };
}

/** Waits until a number reaches `count`, or stops rising. */
async function untilAll(read: () => number, count: number): Promise<void> {
  let best = -1;
  for (let until = 0; best < count; await sleep(POLL_INTERVAL_MS)) {
    const now = read();
    if (now > best) {
      best = now;
      until = performance.now() + STUCK_MS;
    } else if (performance.now() > until) return;
  }
}

function numberFaults(stored: readonly StoredMessage[], count: number): string[] {
  const wrong = stored.filter(({ seq }, at) => seq !== at + 1).map(({ seq }) => `${seq} is in the wrong position`);
  return stored.length === count ? wrong : [...wrong, `${stored.length} of ${count} messages exist`];
}

function contentFaults(stored: readonly StoredMessage[], { seqs }: Written): string[] {
  const found = new Map(stored.map(({ text, seq }) => [text, seq]));
  const doubled = found.size === stored.length ? [] : [`${stored.length - found.size} messages exist twice`];
  const moved = [...seqs].filter(([text, seq]) => found.get(text) !== seq);
  return [...doubled, ...moved.map(([text, seq]) => `${text} has ${found.get(text)} and not ${seq}`)];
}

/** Checks the unread counts. A person has read everything up to their own last message. */
async function unreadFaults(conversation: Conversation, stored: readonly StoredMessage[]): Promise<string[]> {
  const unread = await readUnread(conversation);
  return conversation.people.flatMap(({ user }, i) => {
    const last = stored.findLast(({ author }) => author.id === user.id)?.seq ?? 0;
    return unread[i] === stored.length - last ? [] : [`${user.id} has ${unread[i]} unread after ${last}`];
  });
}
