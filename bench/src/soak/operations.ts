import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { sentence } from '../fill.js';
import type { Answer, Client } from '../http.js';
import { hashOf, type KnownDocument, type Resource } from './known.js';

/** A write that a client is about to send, and its effect on a document. */
export interface Operation {
  readonly kind: 'create' | 'write' | 'rename' | 'move' | 'trash' | 'restore';
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  /** Value of the request's `Idempotency-Key`. */
  readonly key: string;
  /** Type of the event that the write publishes. */
  readonly event: string;
  /** State of the document before the write; undefined for a creation. */
  readonly before: KnownDocument | undefined;
  /** State of the document after the write. For a creation, the id is known only from the answer. */
  readonly after: KnownDocument;
}

/** The part of a workspace in which a writer works. */
export interface WorkArea {
  readonly workspaceId: string;
  readonly folders: readonly string[];
}

/** Sends an operation with its idempotency key. Rejects if no answer arrives. */
export function send(client: Client, { method, path, body, key }: Operation): Promise<Answer> {
  return client.send(method, path, body, { 'idempotency-key': key });
}

/** Returns the state of the document after an acknowledged operation. Throws if the answer states another outcome. */
export function acknowledged({ kind, after }: Operation, { text }: Answer): KnownDocument {
  const { data } = JSON.parse(text) as { data: AnsweredResource };
  const answered = data.resource ?? data;
  const made = kind === 'create' ? { ...after, id: answered.id ?? '' } : after;
  const wanted = kind === 'write' ? made.contentVersion : made.version;
  if (kind !== 'trash' && answered.version !== wanted) {
    throw new Error(`${kind} of ${made.id} answers version ${answered.version}, not ${wanted}`);
  }
  return made;
}

/** The common part of answers. A deletion has no version; a restoration wraps the resource. */
interface AnsweredResource extends Partial<Resource> {
  readonly resource?: Resource;
}

export function createOperation({ workspaceId, folders }: WorkArea): Operation {
  const parentId = oneOf(folders);
  const name = newName();
  const content = newContent();
  const after = { id: '', workspaceId, parentId, name, contentHash: hashOf(content), state: 'active' } as const;
  return {
    kind: 'create',
    method: 'POST',
    path: '/resources',
    body: { type: 'document', name, parent_id: parentId, content },
    key: randomUUID(),
    event: 'commonplace.resources.resource.created',
    before: undefined,
    after: { ...after, version: 1, contentVersion: 1 },
  };
}

/** Returns a random change that the state of a document allows. */
export function changeOperation(before: KnownDocument, { folders }: WorkArea): Operation {
  if (before.state === 'trashed') return restoreOperation(before);
  return oneOf([writeOperation, writeOperation, renameOperation, moveOperation, trashOperation])(before, folders);
}

function writeOperation(before: KnownDocument): Operation {
  const content = newContent();
  return {
    ...about(before, 'write', 'PATCH', '/content', 'content.updated'),
    body: { content },
    after: { ...next(before), contentHash: hashOf(content), contentVersion: before.contentVersion + 1 },
  };
}

function renameOperation(before: KnownDocument): Operation {
  const name = newName();
  return {
    ...about(before, 'rename', 'PATCH', '', 'resource.updated'),
    body: { name },
    after: { ...next(before), name },
  };
}

function moveOperation(before: KnownDocument, folders: readonly string[]): Operation {
  const parentId = oneOf(folders.filter((id) => id !== before.parentId));
  return {
    ...about(before, 'move', 'PATCH', '', 'resource.moved'),
    body: { parent_id: parentId },
    after: { ...next(before), parentId },
  };
}

function trashOperation(before: KnownDocument): Operation {
  return {
    ...about(before, 'trash', 'DELETE', '', 'resource.trashed'),
    after: { ...next(before), state: 'trashed' },
  };
}

function restoreOperation(before: KnownDocument): Operation {
  return {
    ...about(before, 'restore', 'POST', '/restore', 'resource.restored'),
    body: {},
    after: { ...next(before), state: 'active' },
  };
}

function about<Kind extends Operation['kind'], Method extends Operation['method']>(
  before: KnownDocument,
  kind: Kind,
  method: Method,
  path: string,
  event: string,
) {
  const key = randomUUID();
  return { kind, method, path: `/resources/${before.id}${path}`, key, event: `commonplace.resources.${event}`, before };
}

function next(before: KnownDocument): KnownDocument {
  return { ...before, version: before.version + 1 };
}

/**
 * Returns a name with a unique word. It is unlike all others, so that even a search that tolerates misspellings finds
 * nothing else by it.
 */
function newName(): string {
  return `Soak ${Array.from(randomBytes(16), (byte) => String.fromCharCode(97 + (byte % 26))).join('')}`;
}

/** Returns unique content of up to 4 KB. */
function newContent(): string {
  return `# ${randomUUID()}\n\n${sentence(randomInt(1e9), randomInt(1, 500))}`;
}

export function oneOf<T>(items: readonly T[]): T {
  return items[randomInt(items.length)] as T;
}
