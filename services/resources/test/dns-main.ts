import { createSocket } from 'node:dgram';
import { type Answer, decode, encode, type Packet } from 'dns-packet';

/** What the server answers: records by name, names with a server failure, and names without any answer. */
export interface Zone {
  readonly records: readonly { readonly name: string; readonly type: 'TXT' | 'CNAME' | 'A'; readonly data: string }[];
  readonly broken: readonly string[];
  readonly silent: readonly string[];
}

const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;

let zone: Zone = { records: [], broken: [], silent: [] };
const socket = createSocket('udp4');

socket.on('message', (bytes, { address, port }) => {
  const query = decode(bytes);
  const [question] = query.questions ?? [];
  if (question === undefined || zone.silent.includes(question.name)) return;
  const named = zone.records.filter(({ name }) => name === question.name.toLowerCase());
  const found = named.filter(({ type }) => type === question.type || type === 'CNAME');
  const code = zone.broken.includes(question.name) ? SERVER_FAILURE : named.length === 0 ? NO_SUCH_NAME : 0;
  const answers = code === 0 ? found.map((record) => ({ ...record, ttl: 1 }) as Answer) : [];
  const response: Packet = { type: 'response', id: query.id ?? 0, flags: code, questions: [question], answers };
  socket.send(encode(response), port, address);
});

process.on('message', (next: Zone) => {
  zone = next;
  process.send?.('set');
});
process.on('disconnect', () => process.exit(0));
socket.bind(0, '127.0.0.1', () => process.send?.({ port: socket.address().port }));
