import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import type { Parts } from '../../parts.js';
import { InvalidArguments, type ToolContext } from './tool.js';

type TargetParts = Pick<Parts, 'index'>;

/** The place of a write: a resource, or the root of a workspace. */
type Target = Pick<AccessibleResource, 'boundaryId' | 'isShared' | 'name'>;

/** Returns a resource in the run's workspace that the run can read; undefined if there is none. */
export async function findTarget(
  parts: TargetParts,
  id: string,
  context: ToolContext,
): Promise<AccessibleResource | undefined> {
  const { resources } = await parts.index.checkAccess({ ids: [id] }, await context.acting());
  const { workspaceId } = context.run;
  return resources.find((one) => workspaceId === undefined || one.workspaceId === workspaceId);
}

/** Returns a resource as `findTarget` does, but throws `InvalidArguments` if there is none. */
export async function targetOf(parts: TargetParts, id: string, context: ToolContext): Promise<AccessibleResource> {
  const found = await findTarget(parts, id, context);
  if (found === undefined) throw new InvalidArguments(`There is no resource ${id} here.`);
  return found;
}

/** Returns the place of a new resource: the parent, or the root of the run's workspace. */
export async function placeOf(
  parts: TargetParts,
  parentId: string | undefined,
  context: ToolContext,
): Promise<Target & { readonly workspaceId: string | undefined; readonly parentId: string | undefined }> {
  if (parentId !== undefined) {
    const parent = await targetOf(parts, parentId, context);
    return { ...parent, workspaceId: undefined, parentId };
  }
  const { workspaceId } = context.run;
  if (workspaceId === undefined) throw new InvalidArguments('parent_id must be the id of a folder or document.');
  return { boundaryId: workspaceId, isShared: false, name: 'the workspace', workspaceId, parentId };
}

/** Returns the id of a place that is a resource. */
export const idsOf = ({ parentId }: { readonly parentId: string | undefined }): string[] =>
  parentId === undefined ? [] : [parentId];

/**
 * Returns whether a target may have readers who cannot read everything that the run has read, so that writing there
 * passes it on. If the readers of a source are not known, it returns true.
 */
export async function isWider(
  parts: TargetParts,
  target: Target,
  context: ToolContext,
  alsoIds: readonly string[] = [],
): Promise<boolean> {
  if (target.isShared) return true;
  const { run, sources } = context;
  if (sources.isPrivate) return true;
  const ids = [...new Set([...sources.resourceIds(), ...run.resourceIds, ...alsoIds])];
  if (ids.length === 0) return false;
  const { resources } = await parts.index.checkAccess({ ids }, await context.acting(undefined, { isNamed: true }));
  return resources.length < ids.length || resources.some(({ boundaryId }) => boundaryId !== target.boundaryId);
}
