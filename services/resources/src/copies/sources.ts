import { findPages } from '@commonplace/kit/store';
import { type SkippedResource, SkipReason } from '@commonplace/proto/resources/v1/copy_service.js';
import type { Access } from '../domain/access.js';
import type { SourceNode } from '../domain/copy.js';
import { mayHaveChildren, type Node } from '../domain/node.js';
import { may, type Role } from '../domain/role.js';
import { LimitReached } from '../errors.js';
import { readText } from '../kinds.js';
import type { AccessSubject, Seen } from '../policy.js';
import type { CopyParts } from './parts.js';

/** The nodes that a copy includes beside its head, as of now; nodes added below later are not included. */
export interface Sources {
  readonly nodes: readonly SourceNode[];
  /** The first of the nodes that are left out. */
  readonly skipped: readonly SkippedResource[];
  readonly skippedCount: number;
}

/** Number of nodes that one query reads. */
const PAGE = 200;
/** Maximum number of left-out items that an answer names. */
const MAX_LISTED_SKIPPED = 100;

/**
 * Returns the live descendants of a head that the caller can read, and those that are left out. Throws `limit_reached`.
 */
export async function sourcesBelow(parts: CopyParts, head: Node, subject: AccessSubject): Promise<Sources> {
  const { tree, policy, pending, settings } = parts;
  const nodes: SourceNode[] = [];
  const skipped: SkippedResource[] = [];
  let skippedCount = 0;
  if (!mayHaveChildren(head)) return { nodes, skipped, skippedCount };
  const seen = new Set<string>();
  // While a job moves a large subtree here, its nodes do not yet name `head` as an ancestor; find them by the job's
  // head.
  const roots = [head.id, ...(await pending.in(head.workspaceId)).map((job) => job.headId)];
  for (const root of roots) {
    for await (const page of findPages(tree.nodes, { where: { ancestors: { contains: root } } }, PAGE)) {
      const live = (await tree.resolve(page)).filter(
        (node) => node.state === 'active' && node.ancestors.includes(head.id) && !seen.has(node.id),
      );
      const access = await policy.accessToAll(live, subject);
      policy.opensAll(readable(live, access), subject);
      for (const [i, node] of live.entries()) {
        const { id, workspaceId, type, ancestors, boundary, sizeBytes, tags } = node;
        seen.add(id);
        const role = access[i]?.role;
        const reason = role === undefined ? SkipReason.NOT_READABLE : whyNotCopied(node);
        if (reason !== undefined) {
          if (skippedCount++ < MAX_LISTED_SKIPPED) skipped.push({ id, reason });
          continue;
        }
        const managed = may(role as Role, 'manage');
        nodes.push({ id, workspaceId, type, ancestors, boundary, sizeBytes, tags, managed });
      }
      if (nodes.length >= settings.copyResources) {
        throw LimitReached({ limit: settings.copyResources, what: 'resources in one copy' });
      }
    }
  }
  return { nodes, skipped, skippedCount };
}

/** Returns why a node that the caller can read cannot be copied: the bytes of a file may not be ready. */
export function whyNotCopied({ type, file }: Pick<Node, 'type' | 'file'>): SkipReason | undefined {
  return type === 'file' && file?.status !== 'ready' ? SkipReason.FILE_NOT_READY : undefined;
}

/**
 * Returns the files that a document shows and that are its children; they are copied with it even if other children are
 * not.
 */
export async function attachmentsOf(parts: CopyParts, head: Node, subject: AccessSubject): Promise<Sources> {
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
  const seen = readable(shown, await parts.policy.accessToAll(shown, subject));
  parts.policy.opensAll(seen, subject);
  return { ...none, nodes: seen.map(({ node }) => ({ ...node, managed: false })) };
}

function readable(nodes: readonly Node[], access: readonly (Access | undefined)[]): Pick<Seen, 'node' | 'access'>[] {
  return nodes.flatMap((node, i) => {
    const held = access[i];
    return held === undefined ? [] : { node, access: held };
  });
}
