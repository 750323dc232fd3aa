import type { Scalar } from '@commonplace/kit/store';
import { type SkippedResource, SkipReason } from '@commonplace/proto/resources/v1/copy_service.js';
import { may, type Role } from '../domain/access.js';
import type { SourceNode } from '../domain/copy.js';
import { LimitReached } from '../errors.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import { mayHaveChildren, type Node } from '../stores/nodes.js';
import { readText } from './content.js';

/** What goes into a copy beside its head, as it is now; what comes below later does not. */
export interface Sources {
  readonly nodes: readonly SourceNode[];
  /** The first of what is left out. */
  readonly skipped: readonly SkippedResource[];
  readonly skippedCount: number;
}

/** Nodes that are looked at at once. */
const PAGE = 1000;
/** Left out items that an answer names. */
const NAMED = 100;

/** All that lives below a head: what the caller reads, and what is left out. Throws `limit_reached`. */
export async function sourcesBelow(parts: Parts, head: Node, standing: Standing): Promise<Sources> {
  const { tree, policy, pending, settings } = parts;
  const nodes: SourceNode[] = [];
  const skipped: SkippedResource[] = [];
  let skippedCount = 0;
  if (!mayHaveChildren(head)) return { nodes, skipped, skippedCount };
  const seen = new Set<string>();
  // While a large subtree is being moved here, those below its head do not say yet that they are here.
  const roots = [head.id, ...(await pending.in(head.workspaceId)).map((job) => job.headId)];
  for (const root of roots) {
    for (let after: Scalar[] | undefined, more = true; more; ) {
      const page = await tree.nodes.find({ where: { ancestors: { contains: root } }, limit: PAGE, after });
      const live = (await tree.resolve(page)).filter(
        (node) => node.state === 'active' && node.ancestors.includes(head.id) && !seen.has(node.id),
      );
      const access = await policy.accessToAll(live, standing);
      for (const [i, node] of live.entries()) {
        const { id, workspaceId, type, ancestors, sizeBytes, tags } = node;
        seen.add(id);
        const role = access[i]?.role;
        const reason = role === undefined ? SkipReason.NOT_READABLE : whyNotCopied(node);
        if (reason !== undefined) {
          if (skippedCount++ < NAMED) skipped.push({ id, reason });
          continue;
        }
        const managed = may(role as Role, 'manage');
        nodes.push({ id, workspaceId, type, ancestors, sizeBytes, tags, managed });
      }
      if (nodes.length >= settings.copyResources) {
        throw LimitReached({ limit: settings.copyResources, what: 'resources in one copy' });
      }
      more = page.length === PAGE;
      after = [page.at(-1)?.id as string];
    }
  }
  return { nodes, skipped, skippedCount };
}

/** Why a node can't be copied that the caller reads: a file needs its bytes. */
export function whyNotCopied({ type, file }: Pick<Node, 'type' | 'file'>): SkipReason | undefined {
  return type === 'file' && file?.status !== 'ready' ? SkipReason.FILE_NOT_READY : undefined;
}

/** The files that a document shows: they stand below it, and belong to it where nothing else below does. */
export async function attachmentsOf(parts: Parts, head: Node, standing: Standing): Promise<Sources> {
  const none = { nodes: [], skipped: [], skippedCount: 0 };
  if (head.type !== 'document' || !mayHaveChildren(head)) return none;
  const files = await parts.tree.nodes.find({
    where: { parentKey: head.id, state: 'active', type: 'file' },
    sort: ['position'],
    limit: parts.settings.children,
  });
  if (files.length === 0) return none;
  const text = await readText(parts, head);
  const shown = files.filter((file) => text.includes(file.id) && whyNotCopied(file) === undefined);
  const access = await parts.policy.accessToAll(shown, standing);
  return { ...none, nodes: shown.flatMap((node, i) => (access[i] === undefined ? [] : { ...node, managed: false })) };
}
