import { setTimeout as sleep } from 'node:timers/promises';
import { missingServers } from '../mesh/servers.js';
import type { Tally } from '../tally.js';
import { type Conversation, openConversation, readMessages, readUnread, type StoredMessage } from './conversation.js';
import { type Killable, startEmbedded, startReplicas } from './killable.js';
import { Subscriber, subscriberFaults } from './subscriber.js';
import { type Written, writeMessages } from './writer.js';

const WRITERS = 50;
/** Streams of each writer: as many as devices that are open at once. */
const STREAMS = 4;
/** Time within which one more message has to be sent, or to be told to somebody. */
const STUCK_MS = 120_000;
/** Time in which a message that was told twice would come again. */
const REST_MS = 3_000;
const LOOK_MS = 50;

/** How much of it is done. */
export interface MessageRounds {
  readonly kills: number;
  /** Messages of each writer. */
  readonly messages: number;
}

/**
 * Has 50 people write into one conversation, and 200 streams follow it, while the one process is killed. Every message has to
 * be there once, with the numbers 1 to N, and every stream has to tell each once and in order.
 */
export async function soakMessages(rounds: MessageRounds, home: string, tally: Tally): Promise<void> {
  await soakOn(await startEmbedded(home), rounds, tally);
}

/** Does the same on a mesh of which one of several gateways or of several processes of messaging is killed. */
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
    const told = () => subscribers.reduce((sum, { seqs }) => sum + Math.min(seqs.length, count), 0);
    await untilAll(told, count * subscribers.length);
    const late = (performance.now() - started) / 1000 - seconds;
    await sleep(REST_MS);
    const stored = await readMessages(conversation);
    const on = (what: string) => `messages, ${system.name}: ${what}`;
    tally.check(on('every message is acknowledged'), failures);
    tally.check(on('the numbers are 1 to N, each once'), numberFaults(stored, count));
    tally.check(on('every message is there once, with the number that was answered'), contentFaults(stored, written));
    tally.check(on('what is unread is exact'), await unreadFaults(conversation, stored));
    tally.check(
      on('every stream tells each message once and in order'),
      subscribers.flatMap((one, i) => subscriberFaults(one, count).map((fault) => `stream ${i}: ${fault}`)),
    );
    const opened = subscribers.reduce((sum, one) => sum + one.opened, 0);
    console.log(
      `messages, ${system.name}: ${stored.length} messages of ${WRITERS} writers in ${seconds.toFixed(0)} s beside ` +
        `${killed.length} kills (${killed.join(', ')}); ${written.retries} retries, of which ${written.repeated} had been sent; ` +
        `${subscribers.length} streams, opened ${opened} times, were told the last one ${late.toFixed(1)} s later`,
    );
  } finally {
    await Promise.all(subscribers.map((one) => one.close()));
    await system.stop();
  }
}

/** Sends all messages; the kills are spread evenly over them. */
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
    else await sleep(LOOK_MS);
  }
  await all;
  return { written, killed, failures };
}

/** Waits until a number has been reached, or does not rise any more. */
async function untilAll(read: () => number, count: number): Promise<void> {
  let best = -1;
  for (let until = 0; best < count; await sleep(LOOK_MS)) {
    const now = read();
    if (now > best) {
      best = now;
      until = performance.now() + STUCK_MS;
    } else if (performance.now() > until) return;
  }
}

function numberFaults(stored: readonly StoredMessage[], count: number): string[] {
  const wrong = stored.filter(({ seq }, at) => seq !== at + 1).map(({ seq }) => `${seq} is in a wrong place`);
  return stored.length === count ? wrong : [...wrong, `${stored.length} of ${count} messages are there`];
}

function contentFaults(stored: readonly StoredMessage[], { seqs }: Written): string[] {
  const found = new Map(stored.map(({ text, seq }) => [text, seq]));
  const doubled = found.size === stored.length ? [] : [`${stored.length - found.size} messages are there twice`];
  const moved = [...seqs].filter(([text, seq]) => found.get(text) !== seq);
  return [...doubled, ...moved.map(([text, seq]) => `${text} has ${found.get(text)} and not ${seq}`)];
}

/** A person has read all up to their own last message. */
async function unreadFaults(conversation: Conversation, stored: readonly StoredMessage[]): Promise<string[]> {
  const unread = await readUnread(conversation);
  return conversation.people.flatMap(({ user }, i) => {
    const last = stored.findLast(({ author }) => author.id === user.id)?.seq ?? 0;
    return unread[i] === stored.length - last ? [] : [`${user.id} has ${unread[i]} unread after ${last}`];
  });
}
