import { createSocket, type Socket } from 'node:dgram';
import type { AddressInfo } from 'node:net';

/** Serves the DNS names of a cluster's headless services. Each resolves to the addresses of the ready pods. */
interface Names {
  /** Address for UDP queries, `127.0.0.1:<port>`. */
  readonly address: string;
  /** Sets the addresses of a name. The next query returns them. */
  set(name: string, addresses: readonly string[]): void;
  close(): Promise<void>;
}

const HEADER = 12;
const [A, INTERNET] = [1, 1];
/** Flags of an authoritative answer, and the code for an unknown name. */
const [ANSWER, NO_SUCH_NAME] = [0x8580, 3];
/** Pointer to the name in the query of the same message. */
const NAME_POINTER = 0xc000 | HEADER;

/** Answers DNS queries on a free loopback port, like a cluster's name server. Answers have a lifetime of 0. */
export async function openNames(): Promise<Names> {
  const known = new Map<string, readonly string[]>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const answer = answerTo(query, known);
    if (answer !== undefined) socket.send(answer, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    set: (name, addresses) => void known.set(name, addresses),
    close: () => closed(socket),
  };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.close(() => resolve()));
}

/** Returns the answer to a message with one query; undefined for any other message. */
function answerTo(query: Buffer, known: ReadonlyMap<string, readonly string[]>): Buffer | undefined {
  if (query.length < HEADER + 5 || query.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = HEADER;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const question = query.subarray(HEADER, at + 5);
  const addresses = known.get(labels.join('.').toLowerCase()) ?? [];
  const asked = query.readUInt16BE(at + 1) === A ? addresses : [];
  const header = Buffer.alloc(HEADER);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  header.writeUInt16BE(ANSWER | (addresses.length === 0 ? NO_SUCH_NAME : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(asked.length, 6);
  return Buffer.concat([header, question, ...asked.map(recordOf)]);
}

function recordOf(address: string): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(NAME_POINTER, 0);
  record.writeUInt16BE(A, 2);
  record.writeUInt16BE(INTERNET, 4);
  record.writeUInt32BE(0, 6);
  record.writeUInt16BE(4, 10);
  for (const [i, byte] of address.split('.').entries()) record[12 + i] = Number(byte);
  return record;
}
