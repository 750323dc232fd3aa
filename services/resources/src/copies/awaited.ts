import { createBreathe } from '@commonplace/kit/slices';
import type { Collection } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { allJobs, type PlaceOfPurge, type TreeJob } from '../nodes/jobs.js';
import { type CopyPiece, copyPieceId } from './records.js';

interface CopyJobs {
  readonly jobs: Collection<TreeJob>;
  readonly nodes: Collection<Node>;
  readonly copyPieces: Collection<CopyPiece>;
}

/**
 * Returns whether a running copy, of resources or into a template, still has to read one of the nodes of a place that
 * meet a condition. Copies of other tenants, however large, are not looked at.
 */
export async function isCopyAwaited(
  parts: CopyJobs,
  { tenant, workspaceIds }: PlaceOfPurge,
  meets: (node: Node) => boolean,
): Promise<boolean> {
  const running = await allJobs(parts.jobs, { kind: { in: ['copy', 'build'] } });
  const near = running.filter(({ kind, copy, ...job }) =>
    // Copies stay in their tenant; a template is made of one workspace.
    kind === 'copy' ? job.tenant === tenant : workspaceIds.includes(copy?.sourceId ?? ''),
  );
  const breathe = createBreathe();
  for (const { id, copy } of near) {
    for (let number = copy?.done ?? 0; number < (copy?.pieces ?? 0); number++) {
      const piece = await parts.copyPieces.get(copyPieceId(id, number));
      const nodes = await parts.nodes.getMany((piece?.copies ?? []).map((planned) => planned.id));
      if (nodes.some(meets)) return true;
      await breathe();
    }
  }
  return false;
}
