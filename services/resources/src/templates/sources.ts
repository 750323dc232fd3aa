import { createBreathe, sortInSlices } from '@commonplace/kit/slices';
import { findPages } from '@commonplace/kit/store';
import { compareCodeUnits } from '@commonplace/kit/words';
import { whyNotCopied } from '../copies/sources.js';
import type { SourceNode } from '../domain/copy.js';
import type { Node } from '../domain/node.js';
import { LimitReached } from '../errors.js';
import type { AccessSubject } from '../policy.js';
import type { TemplateParts } from './parts.js';

/** The fields of a node that copying it from or to a template needs. */
export type TopSource = SourceNode & Pick<Node, 'name' | 'icon' | 'description' | 'position' | 'attachment'>;

/** Number of nodes that one query reads. */
const PAGE = 200;

/** The nodes of a template, and how many the caller can read that are left out because they are restricted. */
interface TemplateSources {
  readonly nodes: readonly TopSource[];
  readonly restricted: number;
}

/**
 * Returns the live nodes of a workspace that the caller can read; if `roots` is not empty, only those nodes and their
 * descendants. Everyone who uses a template reads all of it, so what fewer people can read than the workspace, or than
 * the root above it that the caller names, is left out.
 */
export async function readableIn(
  parts: TemplateParts,
  workspaceId: string,
  roots: readonly Pick<Node, 'id' | 'boundary'>[],
  subject: AccessSubject,
): Promise<TemplateSources> {
  const boundaries = new Map(roots.map(({ id, boundary }) => [id, boundary]));
  /** Returns the boundary of the nearest named root; undefined for a node that is below none. */
  const openBoundary = ({ id, ancestors }: Node): string | undefined => {
    if (boundaries.size === 0) return workspaceId;
    return boundaries.get([...ancestors, id].findLast((one) => boundaries.has(one)) ?? '');
  };
  let restricted = 0;
  const nodes = await gather(parts, workspaceId, async (some) => {
    const live = some.filter((node) => node.state === 'active' && openBoundary(node) && !whyNotCopied(node));
    const access = await parts.policy.accessToAll(live, subject);
    const readable = live.filter((_, i) => access[i] !== undefined);
    const open = readable.filter((node) => node.boundary === openBoundary(node));
    restricted += readable.length - open.length;
    return open;
  });
  return { nodes, restricted };
}

/** Returns all nodes of a template. */
export function allOf(parts: TemplateParts, templateId: string): Promise<TopSource[]> {
  return gather(parts, templateId, async (nodes) => nodes);
}

/** Returns the nodes of a workspace that `choose` keeps, in the order of siblings. Throws `limit_reached`. */
async function gather(
  parts: TemplateParts,
  workspaceId: string,
  choose: (nodes: readonly Node[]) => Promise<readonly Node[]>,
): Promise<TopSource[]> {
  const { tree, settings } = parts;
  const found = new Map<string, TopSource>();
  // While a job moves a large subtree here, its nodes do not yet name this workspace. All are read in one order, so that
  // none is missed that the job writes meanwhile.
  const spread = await tree.unsettled(workspaceId);
  const where = { workspaceId: spread.length === 0 ? workspaceId : { in: spread } };
  for await (const page of findPages(tree.nodes, { where }, PAGE)) {
    const here = (await tree.resolve(page)).filter((node) => node.workspaceId === workspaceId);
    for (const node of await choose(here)) found.set(node.id, sourceOf(node));
    if (found.size > settings.copyResources) {
      throw LimitReached({ limit: settings.copyResources, what: 'resources in one copy' });
    }
  }
  const bySibling = (a: TopSource, b: TopSource) =>
    compareCodeUnits(a.position, b.position) || compareCodeUnits(a.id, b.id);
  return sortInSlices([...found.values()], bySibling, createBreathe());
}

function sourceOf(node: Node): TopSource {
  const { id, workspaceId, type, ancestors, boundary, sizeBytes, tags } = node;
  const { name, icon, description, position, attachment } = node;
  const drawn = { name, icon, description, position, ...(attachment && { attachment }) };
  return { id, workspaceId, type, ancestors, boundary, sizeBytes, tags, managed: false, ...drawn } as TopSource;
}
