import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { sentence } from '../fill.js';
import type { Answer, Client } from '../http.js';
import { hashOf, type Known, type Resource } from './known.js';

/** A write that a client is about to send, and its effect on a document. */
export interface Operation {
  readonly kind: 'create' | 'write' | 'rename' | 'move' | 'trash' | 'restore';
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  /** Value of its `Idempotency-Key`. */
  readonly key: string;
  /** Type of the event that it publishes. */
  readonly event: string;
  /** The document before; undefined for a creation. */
  readonly before: Known | undefined;
  /** The document after; the id of a creation is in its answer. */
  readonly after: Known;
}

/** The part of a workspace that a writer works in. */
export interface Ground {
  readonly workspaceId: string;
  readonly folders: readonly string[];
}

/** Sends an operation with its key. Rejects if no answer comes. */
export function send(client: Client, { method, path, body, key }: Operation): Promise<Answer> {
  return client.send(method, path, body, { 'idempotency-key': key });
}

/** Returns the document after an acknowledged operation. Throws if the answer states another outcome. */
export function acknowledged({ kind, after }: Operation, { text }: Answer): Known {
  const { data } = JSON.parse(text) as { data: Told };
  const told = data.resource ?? data;
  const made = kind === 'create' ? { ...after, id: told.id ?? '' } : after;
  const wanted = kind === 'write' ? made.contentVersion : made.version;
  if (kind !== 'trash' && told.version !== wanted) {
    throw new Error(`${kind} of ${made.id} answers version ${told.version}, not ${wanted}`);
  }
  return made;
}

/** Common part of the answers: a deletion has no version, a restoration wraps the resource. */
interface Told extends Partial<Resource> {
  readonly resource?: Resource;
}

export function createOperation({ workspaceId, folders }: Ground): Operation {
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

/** Returns a random change to a document that its state allows. */
export function changeOperation(before: Known, { folders }: Ground): Operation {
  if (before.state === 'trashed') return restoreOperation(before);
  return oneOf([writeOperation, writeOperation, renameOperation, moveOperation, trashOperation])(before, folders);
}

function writeOperation(before: Known): Operation {
  const content = newContent();
  return {
    ...about(before, 'write', 'PATCH', '/content', 'content.updated'),
    body: { content },
    after: { ...next(before), contentHash: hashOf(content), contentVersion: before.contentVersion + 1 },
  };
}

function renameOperation(before: Known): Operation {
  const name = newName();
  return {
    ...about(before, 'rename', 'PATCH', '', 'resource.updated'),
    body: { name },
    after: { ...next(before), name },
  };
}

function moveOperation(before: Known, folders: readonly string[]): Operation {
  const parentId = oneOf(folders.filter((id) => id !== before.parentId));
  return {
    ...about(before, 'move', 'PATCH', '', 'resource.moved'),
    body: { parent_id: parentId },
    after: { ...next(before), parentId },
  };
}

function trashOperation(before: Known): Operation {
  return {
    ...about(before, 'trash', 'DELETE', '', 'resource.trashed'),
    after: { ...next(before), state: 'trashed' },
  };
}

function restoreOperation(before: Known): Operation {
  return {
    ...about(before, 'restore', 'POST', '/restore', 'resource.restored'),
    body: {},
    after: { ...next(before), state: 'active' },
  };
}

function about<Kind extends Operation['kind'], Method extends Operation['method']>(
  before: Known,
  kind: Kind,
  method: Method,
  path: string,
  event: string,
) {
  const key = randomUUID();
  return { kind, method, path: `/resources/${before.id}${path}`, key, event: `commonplace.resources.${event}`, before };
}

function next(before: Known): Known {
  return { ...before, version: before.version + 1 };
}

/** Returns a name with a word unlike any other, so that a search tolerant of misspellings finds nothing else by it. */
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
