import { NotFound } from '@commonplace/kit/errors';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type {
  CheckFileWriterRequest,
  CheckFileWriterResponse,
  CreateFileNodeRequest,
  FileNode,
  FileNodeService,
  SumStorageRequest,
  WorkspaceSums,
} from '@commonplace/proto/resources/v1/file_node_service.js';
import type { Node } from '../../domain/node.js';
import { NotAFile, ResourceLocked, WorkspaceArchived } from '../../errors.js';
import { type AccessSubject, requireCapability, requireWritable, type Seen } from '../../policy.js';
import { resourceMessage } from '../../wire.js';
import { destinationOf } from '../create.js';
import { dropFileNode, insertFileNode, putFileState, replaceableFile, requireRoom } from '../file-node.js';
import type { TreeParts } from '../parts.js';
import { surroundingsOf } from '../surroundings.js';
import { visibleWhere } from '../visible.js';

interface FileNodeParts extends TreeParts {
  /** Returns whether a pinned edition of a publication shows this file. */
  readonly isPinned: (id: string) => Promise<boolean>;
  /** Returns the bytes of an Org's templates, and of the Personal ones of a person. */
  readonly templateBytes: (owner: Pick<SumStorageRequest, 'orgId' | 'userId'>) => Promise<number>;
}

/** Creates the handlers that the files service calls. */
export function createFileNodeHandlers(parts: FileNodeParts): Handlers<FileNodeService> {
  const { policy, tree } = parts;
  return {
    async checkFilePlace(request, context) {
      const subject = await policy.subject(context);
      if (request.replaceResourceId !== undefined) {
        const { node } = await replaceableFile(parts, request.replaceResourceId, subject, context);
        return { tenant: node.tenant, workspaceId: node.workspaceId };
      }
      const destination = await destinationOf(parts, request, subject, context);
      await requireRoom(parts, destination);
      return { tenant: destination.parent.tenant, workspaceId: destination.parent.workspaceId };
    },

    createFileNode: (request, context) => createFileNode(parts, request, context),

    async getFileNode({ id, toWrite }, context) {
      const subject = await policy.subject(context);
      const seen = await policy.see(id, subject);
      if (toWrite) requireCapability(seen, 'write');
      if (seen.node.type !== 'file') throw NotAFile({ type: seen.node.type });
      if (toWrite) requireWritable(seen);
      return fileNode(parts, seen, subject);
    },

    checkFileWriter: (request, context) => checkFileWriter(parts, request, context),

    async setFileState({ id, ...state }, context) {
      const node = await context.work.get(tree.nodes, id);
      // A file in a pinned publication has no node, but exists.
      if (node === undefined) return { found: await parts.isPinned(id) };
      putFileState(parts, node, state, context);
      return { found: true };
    },

    async dropFileNode({ id, revision }, context) {
      const node = await context.work.get(tree.nodes, id);
      if (node?.file?.revision === revision) dropFileNode(parts, node, context);
      return {};
    },

    async sumStorage({ workspaceIds, orgId, userId }) {
      const workspaces = await Promise.all(workspaceIds.map((id) => sumsOf(parts, id)));
      const orgSnapshots = orgId === undefined ? 0 : await snapshotBytes(parts, orgId);
      return { workspaces, orgSnapshots, templates: await parts.templateBytes({ orgId, userId }) };
    },

    async findLargest({ workspaceIds, limit }, context) {
      const subject = await policy.subject(context);
      const found: Node[] = [];
      for (const id of workspaceIds) found.push(...(await largestIn(parts, id, limit, subject)));
      found.sort((a, b) => b.sizeBytes - a.sizeBytes);
      return { nodes: found.slice(0, limit).map(({ id, sizeBytes }) => ({ id, bytes: sizeBytes })) };
    },
  };
}

/** Throws unless bytes may arrive for a file now. A file that the person can no longer write does not exist for them. */
async function checkFileWriter(
  { policy, tree }: TreeParts,
  { id, userId }: CheckFileWriterRequest,
  context: CallContext,
): Promise<CheckFileWriterResponse> {
  const node = await tree.get(id);
  if (node?.state !== 'active') throw NotFound();
  if (userId !== undefined && !(await policy.canWrite(node, userId, context))) throw NotFound();
  if (await policy.isArchived(node.workspaceId, context)) throw WorkspaceArchived();
  if (node.locked) throw ResourceLocked();
  return {};
}

async function createFileNode(
  parts: TreeParts,
  request: CreateFileNodeRequest,
  context: CallContext,
): Promise<FileNode> {
  const subject = await parts.policy.subject(context);
  const existing = await parts.tree.get(request.id);
  if (existing === undefined) {
    const destination = await destinationOf(parts, request, subject, context);
    return present(parts, await insertFileNode(parts, request, destination, context), subject);
  }
  const seen = await parts.policy.see(request.id, subject);
  requireCapability(seen, 'write');
  const node = putFileState(parts, seen.node, { ...request, ...UNCHANGED }, context);
  return present(parts, node, subject);
}

const UNCHANGED = { bytesChanged: false, textChanged: false, actor: undefined };

async function present(parts: TreeParts, node: Node, subject: AccessSubject): Promise<FileNode> {
  const membership = subject.person.workspaces.get(node.workspaceId);
  const access = await parts.policy.accessTo(node, subject);
  return fileNode(parts, { node, access: access ?? { role: 'editor', source: 'workspace' }, membership }, subject);
}

async function fileNode(parts: TreeParts, seen: Seen, subject: AccessSubject): Promise<FileNode> {
  const surroundings = await surroundingsOf(parts, seen, subject);
  return { resource: resourceMessage(seen, surroundings), tenant: seen.node.tenant };
}

/** Returns the bytes in a workspace by type; the trash is counted separately. */
async function sumsOf(parts: TreeParts, workspaceId: string): Promise<WorkspaceSums> {
  const { tree } = parts;
  const live = { workspaceId, state: 'active' } as const;
  const [byType, trash, fileCount, snapshots] = await Promise.all([
    tree.nodes.sumBy({ sum: 'sizeBytes', by: 'type' }, live),
    tree.nodes.sum('sizeBytes', { workspaceId, state: 'trashed' }),
    tree.nodes.count({ ...live, type: 'file' }),
    // A Personal workspace is its own tenant; for any other workspace this is 0, because its tenant is the Org.
    snapshotBytes(parts, workspaceId),
  ]);
  const bytesOf = (type: Node['type']) => byType.get(type) ?? 0;
  return {
    workspaceId,
    files: bytesOf('file'),
    documents: bytesOf('document'),
    tables: bytesOf('table'),
    artifacts: bytesOf('artifact'),
    trash,
    fileCount,
    snapshots,
  };
}

function snapshotBytes({ snapshots }: TreeParts, tenant: string): Promise<number> {
  return snapshots.sum('sizeBytes', { tenant });
}

/** Types of nodes that have content, in the order of whose sizes an index has them. */
const SIZED = ['document', 'table', 'artifact', 'file'] as const satisfies readonly Node['type'][];

/** Returns the largest nodes of a workspace that the caller can see. */
async function largestIn(
  parts: TreeParts,
  workspaceId: string,
  limit: number,
  subject: AccessSubject,
): Promise<Node[]> {
  const { tree, policy } = parts;
  const visible = await visibleWhere(parts, workspaceId, subject);
  const where = { workspaceId, state: 'active', type: { in: SIZED }, sizeBytes: { gt: 0 }, ...visible.where } as const;
  const found = await tree.resolve(await tree.nodes.find({ where, sort: ['-sizeBytes'], limit }));
  const access = await policy.accessToAll(found, subject);
  return found.filter(({ state }, i) => state === 'active' && access[i] !== undefined);
}
