import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type {
  CreateFileNodeRequest,
  FileNode,
  FileNodeService,
  WorkspaceSums,
} from '@commonplace/proto/resources/v1/file_node_service.js';
import { destinationOf } from '../acts/create.js';
import { dropFileNode, insertFileNode, putFileState, replaceableFile, requireRoom } from '../acts/file-node.js';
import { NotAFile } from '../errors.js';
import type { Parts } from '../parts.js';
import { requireCapability, requireWritable, type Seen, type Standing } from '../policy.js';
import type { Node } from '../stores/nodes.js';
import { surroundingsOf } from '../views/surroundings.js';
import { visibleWhere } from '../views/visible.js';
import { resourceMessage } from './present.js';

/** What the files service asks of the tree's owner. */
export function createFileNodeHandlers(parts: Parts): Handlers<FileNodeService> {
  const { policy, tree } = parts;
  return {
    async checkFilePlace(request, context) {
      const standing = await policy.standing(context);
      if (request.replaceResourceId !== undefined) {
        const { node } = await replaceableFile(parts, request.replaceResourceId, standing, context);
        return { tenant: node.tenant, workspaceId: node.workspaceId };
      }
      const destination = await destinationOf(parts, request, standing, context);
      await requireRoom(parts, destination);
      return { tenant: destination.parent.tenant, workspaceId: destination.parent.workspaceId };
    },

    createFileNode: (request, context) => createFileNode(parts, request, context),

    async getFileNode({ id, toWrite }, context) {
      const standing = await policy.standing(context);
      const seen = await policy.see(id, standing);
      if (toWrite) requireCapability(seen, 'write');
      if (seen.node.type !== 'file') throw NotAFile({ type: seen.node.type });
      if (toWrite) requireWritable(seen);
      return fileNode(parts, seen, standing);
    },

    async setFileState({ id, ...state }, context) {
      const node = await context.work.get(tree.nodes, id);
      // What a pinned publication keeps of a file has no node, and is there all the same.
      if (node === undefined) return { found: (await parts.pinned.get(id)) !== undefined };
      putFileState(parts, node, state, context);
      return { found: true };
    },

    async dropFileNode({ id, revision }, context) {
      const node = await context.work.get(tree.nodes, id);
      if (node?.file?.revision === revision) dropFileNode(parts, node, context);
      return {};
    },

    async findFileNodes({ ids }) {
      return { ids: (await tree.nodes.getMany(ids)).map(({ id }) => id) };
    },

    async sumStorage({ workspaceIds, orgId }) {
      const workspaces = await Promise.all(workspaceIds.map((id) => sumsOf(parts, id)));
      return { workspaces, orgSnapshots: orgId === undefined ? 0 : await snapshotBytes(parts, orgId) };
    },

    async findLargest({ workspaceIds, limit }, context) {
      const standing = await policy.standing(context);
      const found: Node[] = [];
      for (const id of workspaceIds) found.push(...(await largestIn(parts, id, limit, standing)));
      found.sort((a, b) => b.sizeBytes - a.sizeBytes);
      return { nodes: found.slice(0, limit).map(({ id, sizeBytes }) => ({ id, bytes: sizeBytes })) };
    },
  };
}

async function createFileNode(parts: Parts, request: CreateFileNodeRequest, context: CallContext): Promise<FileNode> {
  const standing = await parts.policy.standing(context);
  const existing = await parts.tree.get(request.id);
  if (existing === undefined) {
    const destination = await destinationOf(parts, request, standing, context);
    return present(parts, await insertFileNode(parts, request, destination, context), standing);
  }
  const seen = await parts.policy.see(request.id, standing);
  requireCapability(seen, 'write');
  const node = putFileState(parts, seen.node, { ...request, ...UNCHANGED }, context);
  return present(parts, node, standing);
}

const UNCHANGED = { bytesChanged: false, textChanged: false, actor: undefined };

async function present(parts: Parts, node: Node, standing: Standing): Promise<FileNode> {
  const membership = standing.person.workspaces.get(node.workspaceId);
  const access = await parts.policy.accessTo(node, standing);
  return fileNode(parts, { node, access: access ?? { role: 'editor', source: 'workspace' }, membership }, standing);
}

async function fileNode(parts: Parts, seen: Seen, standing: Standing): Promise<FileNode> {
  const surroundings = await surroundingsOf(parts, seen, standing);
  return { resource: resourceMessage(seen, surroundings), tenant: seen.node.tenant };
}

/** What a workspace holds, by kind; what lies in the trash apart. */
async function sumsOf(parts: Parts, workspaceId: string): Promise<WorkspaceSums> {
  const { tree } = parts;
  const live = { workspaceId, state: 'active' } as const;
  const bytesOf = (type: Node['type']) => tree.nodes.sum('sizeBytes', { ...live, type });
  const [files, documents, tables, artifacts, trash, fileCount, snapshots] = await Promise.all([
    bytesOf('file'),
    bytesOf('document'),
    bytesOf('table'),
    bytesOf('artifact'),
    tree.nodes.sum('sizeBytes', { workspaceId, state: 'trashed' }),
    tree.nodes.count({ ...live, type: 'file' }),
    // A Personal workspace is a tenant of its own; that of others is their Org.
    snapshotBytes(parts, workspaceId),
  ]);
  return { workspaceId, files, documents, tables, artifacts, trash, fileCount, snapshots };
}

function snapshotBytes({ snapshots }: Parts, tenant: string): Promise<number> {
  return snapshots.sum('sizeBytes', { tenant });
}

/** Reads all of a workspace's nodes, as the sums do: an index by size would cost every creation and every write. */
async function largestIn(parts: Parts, workspaceId: string, limit: number, standing: Standing): Promise<Node[]> {
  const { tree, policy } = parts;
  const visible = await visibleWhere(parts, workspaceId, standing);
  const where = { workspaceId, state: 'active', sizeBytes: { gt: 0 }, ...visible.where } as const;
  const found = await tree.resolve(await tree.nodes.find({ where, sort: ['-sizeBytes'], limit }));
  const access = await policy.accessToAll(found, standing);
  return found.filter(({ state }, i) => state === 'active' && access[i] !== undefined);
}
