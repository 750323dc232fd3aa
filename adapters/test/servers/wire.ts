import { BSON, type Document } from 'mongodb';

/** Opcodes of MongoDB's wire protocol: the two kinds of answers, and the two kinds of commands. */
const [OP_REPLY, OP_QUERY, OP_MSG] = [1, 2004, 2013];
const HEADER_BYTES = 16;

/** One message of MongoDB's wire protocol: a command, or the answer to one. */
export interface Message {
  readonly id: number;
  readonly answers: number;
  readonly body: Document;
  readonly opcode: number;
  readonly bytes: Buffer;
}

/** Returns a function that takes pieces of a stream, and returns the messages that are complete. */
export function createReader(): (piece: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const messages: Message[] = [];
    while (rest.length >= HEADER_BYTES && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      messages.push(decode(rest.subarray(0, length)));
      rest = rest.subarray(length);
    }
    return messages;
  };
}

function decode(bytes: Buffer): Message {
  const opcode = bytes.readInt32LE(12);
  const body = bytes.subarray(bodyOffset(opcode, bytes));
  const document = BSON.deserialize(body.subarray(0, body.readInt32LE(0)), { promoteValues: false });
  return { id: bytes.readInt32LE(4), answers: bytes.readInt32LE(8), body: document, opcode, bytes };
}

/** Returns where the document of a message begins. Commands with a sequence of documents begin with their body too. */
function bodyOffset(opcode: number, bytes: Buffer): number {
  if (opcode === OP_MSG) return HEADER_BYTES + 5;
  if (opcode === OP_REPLY) return HEADER_BYTES + 20;
  if (opcode === OP_QUERY) return bytes.indexOf(0, HEADER_BYTES + 4) + 1 + 8;
  throw new Error(`opcode ${opcode} is not known`);
}

/** Returns the bytes of an answer to a command. */
export function encodeAnswer(command: Pick<Message, 'id' | 'opcode'>, answer: Document): Buffer {
  const body = BSON.serialize(answer);
  const isQuery = command.opcode === OP_QUERY;
  const between = Buffer.alloc(isQuery ? 20 : 5);
  if (isQuery) between.writeInt32LE(1, 16);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeInt32LE(HEADER_BYTES + between.length + body.length, 0);
  header.writeInt32LE(command.id + 1, 4);
  header.writeInt32LE(command.id, 8);
  header.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12);
  return Buffer.concat([header, between, body]);
}

/** Returns the bytes of a command. */
export function encodeCommand(id: number, command: Document): Buffer {
  const bytes = encodeAnswer({ id: 0, opcode: OP_MSG }, command);
  bytes.writeInt32LE(id, 4);
  bytes.writeInt32LE(0, 8);
  return bytes;
}
