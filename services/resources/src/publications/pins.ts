import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import { MAX_COPIED_BYTES } from '../config.js';
import type { FileState, Node } from '../domain/node.js';
import { LimitReached } from '../errors.js';
import { eventsBy, publishChange } from '../events.js';
import { MAX_PAGES, outlineOf, pick } from './outline.js';
import type { OutlineTarget } from './outlines.js';
import type { PublicationParts } from './parts.js';
import type { PinnedPage } from './records.js';

/** Maximum number of pages in one edition; one unit of work stores them all. */
const MAX_PINNED_PAGES = 1000;

/** Stores what a publication shows now, with all contents, as a new edition. Returns the id of the edition. */
export async function pinEdition(
  parts: PublicationParts,
  target: OutlineTarget,
  context: CallContext,
): Promise<string> {
  const breathe = createBreathe(context.signal);
  const outline = await outlineOf(target, (await parts.outlines.nodesOf(target)) ?? [], breathe);
  const nodes = [...outline.byId.values()].map(({ node }) => node);
  if (nodes.length > MAX_PINNED_PAGES)
    throw LimitReached({ limit: MAX_PINNED_PAGES, what: 'pages in a pinned publication' });
  const bytes = nodes.reduce((sum, { type, sizeBytes }) => (type === 'file' ? sum : sum + sizeBytes), 0);
  if (bytes > MAX_COPIED_BYTES) throw LimitReached({ limit: MAX_COPIED_BYTES, what: 'bytes in a pinned publication' });
  const edition = context.callId;
  for (const node of nodes) await pinPage(parts, node, edition, context);
  return edition;
}

async function pinPage(parts: PublicationParts, node: Node, edition: string, context: CallContext): Promise<void> {
  const keptId = derivedId(`pin:${edition}:${node.id}`);
  if (holdsContent(node)) await parts.kinds[node.type]?.keep(node, keptId, context);
  const { id: nodeId, ...page } = pick(node);
  const file = node.type === 'file' ? await pinFile(parts, node, keptId, context) : undefined;
  context.work.insert(parts.pinned, {
    ...page,
    ...(file && { file }),
    id: keptId,
    keptId,
    tenant: node.tenant,
    edition,
    nodeId,
  });
}

const holdsContent = ({ type }: Pick<Node, 'type'>): boolean => type !== 'file' && type !== 'folder';

/** Copies the file under the page's own id, sharing its bytes. The files service's sweeper looks it up like a node. */
async function pinFile(
  parts: PublicationParts,
  node: Node,
  keptId: string,
  context: CallContext,
): Promise<FileState | undefined> {
  if (node.file?.status !== 'ready') return node.file;
  const { tenant, workspaceId } = node;
  const request = { fromResourceId: node.id, toResourceId: keptId, tenant, workspaceId };
  const { copied, contentType, sizeBytes, revision } = await parts.peers.fileTexts.copyFile(request, context.onward);
  return copied ? { contentType, sizeBytes, status: 'ready', revision } : { ...node.file, status: 'failed' };
}

/** Deletes an edition and everything stored for it. */
export async function forgetEdition(parts: PublicationParts, edition: string, work: UnitOfWork): Promise<void> {
  await forgetPages(parts, await parts.pinned.find({ where: { edition }, limit: MAX_PAGES }), work);
}

/** Deletes what editions have stored of nodes that are purged. */
export async function forgetPinned(
  parts: PublicationParts,
  nodeIds: readonly string[],
  work: UnitOfWork,
): Promise<void> {
  const nodeId = { in: nodeIds };
  await forgetPages(parts, await parts.pinned.find({ where: { nodeId }, limit: MAX_PAGES }), work);
}

async function forgetPages(parts: PublicationParts, pages: readonly PinnedPage[], work: UnitOfWork): Promise<void> {
  for (const page of pages) {
    // One unit of work may purge a node and delete the edition that contains it.
    if ((await work.get(parts.pinned, page.id)) === undefined) continue;
    if (holdsContent(page)) await parts.kinds[page.type]?.forget({ id: page.nodeId }, page.keptId, { work });
    if (page.type === 'file') dropFile(page, work);
    work.remove(parts.pinned, page);
  }
}

const SYSTEM = { type: 'system', id: 'resources', name: 'Publications' } as const;

/** Publishes a purge event for the copy, which never had a node, so that the files service deletes its bytes. */
function dropFile({ keptId, tenant, contentVersion }: PinnedPage, work: UnitOfWork): void {
  const copy = { id: keptId, workspaceId: '', tenant, version: 1, contentVersion };
  publishChange(eventsBy(SYSTEM, tenant, work), { verb: 'resource.purged' }, copy);
}
