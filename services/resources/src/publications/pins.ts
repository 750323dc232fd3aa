import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import { COPIED_BYTES } from '../config.js';
import { LimitReached } from '../errors.js';
import { eventsBy, publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import type { FileState, Node } from '../stores/nodes.js';
import type { PinnedPage } from '../stores/publications.js';
import { MOST_PAGES, outlineOf, pick } from './outline.js';
import type { OutlineTarget } from './outlines.js';

/** Pages that one edition holds, and bytes of their contents: they are kept by one unit of work. */
const PINNED_PAGES = 1000;

/** Keeps what a publication shows now, with all contents, under the name of a new edition, which it gives. */
export async function pinEdition(parts: Parts, target: OutlineTarget, context: CallContext): Promise<string> {
  const outline = outlineOf(target, (await parts.outlines.nodesOf(target)) ?? []);
  const nodes = [...outline.byId.values()].map(({ node }) => node);
  if (nodes.length > PINNED_PAGES) throw LimitReached({ limit: PINNED_PAGES, what: 'pages in a pinned publication' });
  const bytes = nodes.reduce((sum, { type, sizeBytes }) => (type === 'file' ? sum : sum + sizeBytes), 0);
  if (bytes > COPIED_BYTES) throw LimitReached({ limit: COPIED_BYTES, what: 'bytes in a pinned publication' });
  const edition = newId();
  for (const node of nodes) await pinPage(parts, node, edition, context);
  return edition;
}

async function pinPage(parts: Parts, node: Node, edition: string, context: CallContext): Promise<void> {
  const keptId = newId();
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

/** A copy of the file under the page's own id, which shares its bytes; the sweeper of files asks for it as for a node. */
async function pinFile(parts: Parts, node: Node, keptId: string, context: CallContext): Promise<FileState | undefined> {
  if (node.file?.status !== 'ready') return node.file;
  const { tenant, workspaceId } = node;
  const request = { fromResourceId: node.id, toResourceId: keptId, tenant, workspaceId };
  const { copied, contentType, sizeBytes, revision } = await parts.peers.fileTexts.copyFile(request, context.onward);
  return copied ? { contentType, sizeBytes, status: 'ready', revision } : { ...node.file, status: 'failed' };
}

/** Drops an edition with all that it keeps. */
export async function forgetEdition(parts: Parts, edition: string, work: UnitOfWork): Promise<void> {
  await forgetPages(parts, await parts.pinned.find({ where: { edition }, limit: MOST_PAGES }), work);
}

/** Drops what editions keep of nodes that are purged. */
export async function forgetPinned(parts: Parts, nodeIds: readonly string[], work: UnitOfWork): Promise<void> {
  const nodeId = { in: nodeIds };
  await forgetPages(parts, await parts.pinned.find({ where: { nodeId }, limit: MOST_PAGES }), work);
}

async function forgetPages(parts: Parts, pages: readonly PinnedPage[], work: UnitOfWork): Promise<void> {
  for (const page of pages) {
    // One unit may purge a node and drop the edition that it is in.
    if ((await work.get(parts.pinned, page.id)) === undefined) continue;
    if (holdsContent(page)) await parts.kinds[page.type]?.forget({ id: page.nodeId }, page.keptId, { work });
    if (page.type === 'file') dropFile(page, work);
    work.remove(parts.pinned, page);
  }
}

const SYSTEM = { type: 'system', id: 'resources', name: 'Publications' } as const;

/** The files service drops the bytes of what is purged, which a copy without a node is from the beginning. */
function dropFile({ keptId, tenant, contentVersion }: PinnedPage, work: UnitOfWork): void {
  const copy = { id: keptId, workspaceId: '', tenant, version: 1, contentVersion };
  publishChange(eventsBy(SYSTEM, tenant, work), { verb: 'resource.purged' }, copy);
}
