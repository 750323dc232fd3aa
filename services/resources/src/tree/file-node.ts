import { personBehind } from '@commonplace/kit/auth';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { foldName } from '@commonplace/kit/words';
import type { CreateFileNodeRequest, SetFileStateRequest } from '@commonplace/proto/resources/v1/file_node_service.js';
import type { FileSummary } from '@commonplace/proto/resources/v1/resource.js';
import { MAX_DEPTH } from '../config.js';
import { type FileState, isAttachment, type Node } from '../domain/node.js';
import { placeUnder } from '../domain/tree.js';
import { DepthExceeded, NotAFile } from '../errors.js';
import { publishChange } from '../events.js';
import { replaceNode } from '../nodes/replace.js';
import { type AccessSubject, requireCapability, requireWritable, type Seen } from '../policy.js';
import { actorFrom } from '../wire.js';
import type { Destination } from './destination.js';
import type { TreeParts } from './parts.js';
import { reservePlaces } from './reserve.js';
import { positionFor } from './siblings.js';

/** Throws if a destination has no capacity left, before anything is written. */
export async function requireRoom(parts: TreeParts, destination: Destination): Promise<void> {
  if (destination.depth + 1 > MAX_DEPTH) throw DepthExceeded({ limit: MAX_DEPTH });
  // Uses a unit of work that is never committed: the quota is reserved when the file is inserted.
  await reservePlaces(parts, destination, parts.store.begin());
}

/** Returns a file whose bytes the caller may replace. */
export async function replaceableFile(
  parts: TreeParts,
  id: string,
  subject: AccessSubject,
  context: CallContext,
): Promise<Seen> {
  const seen = await parts.policy.see(id, subject);
  requireCapability(seen, 'write');
  if (seen.node.type !== 'file') throw NotAFile({ type: seen.node.type });
  requireWritable(seen);
  requireVersion(context, seen.node.version, seen.node);
  return seen;
}

/** Adds the node of a file to this call's work. */
export async function insertFileNode(
  parts: TreeParts,
  request: CreateFileNodeRequest,
  destination: Destination,
  context: CallContext,
): Promise<Node> {
  const { id, name, revision, sourceUrl } = request;
  const now = new Date().toISOString();
  const file = fileState(request.file, revision);
  await reservePlaces(parts, destination, context.work, { id });
  const writer = await parts.policy.untrustedWriter(destination.parent.workspaceId, context);
  const node = context.work.insert(parts.tree.nodes, {
    ...placeUnder(destination.parent, { id, restricted: false }),
    id,
    parentKey: destination.key,
    type: 'file',
    ...(isAttachment('file', destination.parent) && { attachment: true }),
    name,
    nameFold: foldName(name),
    position: await positionFor(parts.tree, destination.key, { at: 'last' }, context),
    restricted: false,
    locked: false,
    state: 'active',
    tags: [],
    principals: [],
    contentVersion: 1,
    sizeBytes: file.sizeBytes,
    file,
    ...(sourceUrl === undefined ? {} : { sourceUrl }),
    ...(writer === undefined ? {} : { untrusted: [writer] }),
    createdBy: context.actor,
    createdById: context.actor.id,
    createdForId: personBehind(context.actor, context.caller),
    updatedBy: context.actor,
    createdAt: now,
    updatedAt: now,
  });
  parts.counters.add(context.work, [node], 1);
  publishChange(context, { verb: 'resource.created' }, node);
  return node;
}

/** Writes the state of a file to its node. Writing the same state again changes nothing. */
export function putFileState(
  parts: TreeParts,
  node: Node,
  request: Omit<SetFileStateRequest, 'id'>,
  context: CallContext,
): Node {
  const file = fileState(request.file, request.revision);
  const bytesChanged = request.bytesChanged && !(node.file?.revision === file.revision && isReady(node.file));
  // The text of a version may be extracted after the node has got the next version; that state is outdated.
  const isFormer = request.textChanged && !request.bytesChanged && node.file?.revision !== file.revision;
  if (!bytesChanged && (isFormer || sameState(node.file, file))) {
    if (request.textChanged) publishChange(context, { verb: 'content.updated', fields: ['text'] }, node);
    return node;
  }
  const changed = replaceNode(parts, context.work, node, {
    ...node,
    file,
    sizeBytes: file.sizeBytes,
    contentVersion: node.contentVersion + (bytesChanged ? 1 : 0),
    updatedBy: request.actor === undefined ? node.updatedBy : actorFrom(request.actor),
    updatedAt: new Date().toISOString(),
  });
  const verb = bytesChanged || request.textChanged ? 'content.updated' : 'resource.updated';
  publishChange(context, { verb, fields: ['file'] }, changed);
  return changed;
}

/** Deletes the node of a file whose upload failed. */
export function dropFileNode(parts: TreeParts, node: Node, context: CallContext): void {
  const record = parts.tree.recordOf(node);
  if (record.state === 'active') parts.counters.add(context.work, [record], -1);
  context.work.remove(parts.tree.nodes, record);
  publishChange(context, { verb: 'resource.purged' }, node);
}

function fileState(summary: FileSummary | undefined, revision: string): FileState {
  const { contentType = '', sizeBytes = 0, status = '' } = summary ?? {};
  return { contentType, sizeBytes, status, revision };
}

function isReady(file: FileState): boolean {
  return file.status === 'ready';
}

function sameState(before: FileState | undefined, after: FileState): boolean {
  return (
    before !== undefined &&
    before.contentType === after.contentType &&
    before.sizeBytes === after.sizeBytes &&
    before.status === after.status &&
    before.revision === after.revision
  );
}
