import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Document, ObjectId } from 'mongodb';
import { createReader, encodeAnswer, encodeCommand, type Message } from './wire.js';

/** Milliseconds before the primary goes in which half of what arrives is no longer carried out. */
const CLOSING_MS = 30;
/** Milliseconds in which commands that were sent to the server take effect or not. */
const SETTLE_MS = 300;
const MEMBERS = 3;
const HOST = '127.0.0.1';

/**
 * A replica set of three as drivers see one, whose members all answer from one server: a stand-in for a change of the
 * primary, which test servers do not have. What belongs to the primary alone ends with it, as on MongoDB: commands in
 * progress, of which some have taken effect, open transactions, and cursors.
 */
export interface ReplicaSet {
  readonly url: string;
  /** Makes the primary step down. Another member is elected after `electionMs`. */
  stepDown(electionMs: number): Promise<void>;
  /** Ends the primary without a word. It comes back as a secondary after another one is elected. */
  kill(electionMs: number): Promise<void>;
  close(): Promise<void>;
}

/** A connection of a driver to a member, and the commands that have no answer yet. */
interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly pending: Map<number, Message>;
}

interface Member {
  readonly server: Server;
  readonly port: number;
  readonly links: Set<Link>;
}

interface Target {
  readonly host: string;
  readonly port: number;
}

/** The state of the set. */
interface Term {
  readonly setName: string;
  readonly target: Target;
  readonly members: Member[];
  /** Open transactions. */
  readonly open: Map<string, Document>;
  /** Cursors, with the number of the term in which each was opened. */
  readonly cursors: Map<string, number>;
  number: number;
  /** The primary; undefined during an election. */
  primary: Member | undefined;
  /** Whether the primary is about to go. */
  closing: boolean;
}

export async function startReplicaSet(serverUrl: string): Promise<ReplicaSet> {
  const { hostname: host, port, searchParams } = new URL(serverUrl.replace(/^mongodb:/, 'http:'));
  const setName = searchParams.get('replicaSet') ?? '';
  const target = { host, port: Number(port) };
  const members: Member[] = [];
  const nothing = { open: new Map(), cursors: new Map(), number: 1, primary: undefined, closing: false };
  const term: Term = { setName, target, members, ...nothing };
  for (let i = 0; i < MEMBERS; i++) members.push(await startMember(term));
  term.primary = members[0];
  return {
    url: `mongodb://${members.map(hostOf).join(',')}/?replicaSet=${setName}`,
    stepDown: async (electionMs) => elect(term, await endTerm(term, interrupt), electionMs),
    kill: async (electionMs) => {
      const { server } = term.primary as Member;
      server.close();
      const former = await endTerm(term, ({ client }) => client.resetAndDestroy());
      await elect(term, former, electionMs);
      await listen(server, former.port);
    },
    close: async () => {
      for (const { server, links } of members) {
        server.close();
        for (const { client } of [...links]) client.destroy();
      }
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, HOST);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const hostOf = ({ port }: Member): string => `${HOST}:${port}`;

async function startMember(term: Term): Promise<Member> {
  const server = createServer({ noDelay: true }, (client) => accept(term, member, client));
  const member: Member = { server, port: await listen(server, 0), links: new Set() };
  return member;
}

function accept(term: Term, member: Member, client: Socket): void {
  const link: Link = { client, upstream: connect(term.target), pending: new Map() };
  member.links.add(link);
  const [commands, answers] = [createReader(), createReader()];
  client.on('data', (piece) => {
    for (const command of commands(piece as Buffer)) onCommand(term, member, link, command);
  });
  link.upstream.on('data', (piece) => {
    for (const answer of answers(piece as Buffer)) onAnswer(term, member, link, answer);
  });
  const end = (): void => {
    member.links.delete(link);
    client.destroy();
    link.upstream.destroy();
  };
  for (const socket of [client, link.upstream]) socket.on('close', end).on('error', end);
}

function onCommand(term: Term, member: Member, link: Link, command: Message): void {
  const allowed = isAllowed(command);
  const opened = nameOf(command) === 'getMore' ? term.cursors.get(String(command.body.getMore)) : undefined;
  const isStale = opened !== undefined && opened !== term.number;
  const code = !allowed && member !== term.primary ? 10107 : isStale ? 43 : undefined;
  if (code !== undefined) {
    link.client.write(encodeAnswer(command, refusal(code, command)));
    return;
  }
  link.pending.set(command.id, command);
  // Commands that are no longer carried out are answered when the primary has gone.
  if (!allowed && term.closing && Math.random() < 0.5) return;
  noteTransaction(term, command);
  link.upstream.write(command.bytes);
}

function noteTransaction({ open }: Term, command: Message): void {
  const { lsid, txnNumber, autocommit, startTransaction } = command.body;
  if (autocommit !== false) return;
  const key = `${Buffer.from(lsid.id.buffer).toString('hex')} ${txnNumber}`;
  if (startTransaction) open.set(key, { lsid, txnNumber, autocommit: false });
  if (endsTransaction(command)) open.delete(key);
}

function onAnswer(term: Term, member: Member, link: Link, answer: Message): void {
  const command = link.pending.get(answer.answers);
  if (command === undefined) return;
  link.pending.delete(answer.answers);
  const id = answer.body.cursor?.id;
  if (id !== undefined && String(id) !== '0') term.cursors.set(String(id), term.number);
  const isHello = ['hello', 'ismaster'].includes(nameOf(command).toLowerCase());
  link.client.write(isHello ? encodeAnswer(command, helloOf(term, member, answer.body)) : answer.bytes);
}

/** Returns the answer of a member to `hello`, from that of the server. */
function helloOf({ setName, members, primary, number }: Term, member: Member, answer: Document): Document {
  const { topologyVersion: _, electionId: _former, primary: _other, ismaster: _is, ...rest } = answer;
  const writable = member === primary;
  return {
    ...rest,
    ...{ setName, setVersion: 1, hosts: members.map(hostOf), me: hostOf(member) },
    ...{ isWritablePrimary: writable, ismaster: writable, secondary: !writable },
    ...(primary && { primary: hostOf(primary) }),
    ...(writable && { electionId: new ObjectId(number.toString(16).padStart(24, '0')) }),
  };
}

/** Ends the term of the primary: `end` ends one of its connections. Returns the former primary. */
async function endTerm(term: Term, end: (link: Link) => void): Promise<Member> {
  const former = term.primary as Member;
  term.closing = true;
  await sleep(CLOSING_MS);
  term.closing = false;
  term.primary = undefined;
  for (const link of [...former.links]) end(link);
  await sleep(SETTLE_MS);
  await abortAll(term.target, [...term.open.values()]);
  term.open.clear();
  return former;
}

async function elect(term: Term, former: Member, electionMs: number): Promise<void> {
  await sleep(electionMs);
  term.number++;
  term.primary = term.members[(term.members.indexOf(former) + 1) % MEMBERS];
}

/** Answers the commands in progress of a connection as a primary does that steps down. */
function interrupt({ client, pending }: Link): void {
  for (const [id, command] of pending) {
    if (isAllowed(command)) continue;
    client.write(encodeAnswer(command, refusal(11602, command)));
    pending.delete(id);
  }
}

const ALWAYS_ALLOWED = new Set(['hello', 'ismaster', 'ping', 'endsessions', 'buildinfo', 'connectionstatus']);

const nameOf = ({ body }: Message): string => Object.keys(body)[0] ?? '';
/** Returns whether every member answers a command, at any time. */
const isAllowed = (command: Message): boolean => ALWAYS_ALLOWED.has(nameOf(command).toLowerCase());
const endsTransaction = (command: Message): boolean =>
  ['commitTransaction', 'abortTransaction'].includes(nameOf(command));

const CODE_NAMES: Readonly<Record<number, string>> = {
  43: 'CursorNotFound',
  10107: 'NotWritablePrimary',
  11602: 'InterruptedDueToReplStateChange',
};

/** Returns the error with which a member that is not the primary answers a command. */
function refusal(code: number, command: Message): Document {
  const { txnNumber, autocommit } = command.body;
  const isRetryable = txnNumber !== undefined && (autocommit === undefined || endsTransaction(command));
  const labels = isRetryable ? ['RetryableWriteError'] : autocommit === false ? ['TransientTransactionError'] : [];
  const errmsg = `The member is not the primary (${CODE_NAMES[code]}).`;
  return { ok: 0, code, codeName: CODE_NAMES[code], errmsg, ...(labels.length > 0 && { errorLabels: labels }) };
}

/** Aborts transactions on the server, as the end of a primary does. */
async function abortAll(target: Target, open: readonly Document[]): Promise<void> {
  if (open.length === 0) return;
  const socket = connect(target);
  const read = createReader();
  let answered = 0;
  const done = new Promise<void>((resolve, reject) => {
    socket.once('error', reject).on('data', (piece) => {
      answered += read(piece as Buffer).length;
      if (answered === open.length) resolve();
    });
  });
  open.forEach((one, i) => {
    socket.write(encodeCommand(i + 1, { abortTransaction: 1, ...one, $db: 'admin' }));
  });
  await done;
  socket.destroy();
}
