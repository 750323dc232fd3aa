import { personBehind } from '@commonplace/kit/auth';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { traceparentNow } from '@commonplace/kit/telemetry';
import { WorkspaceRequired } from '@commonplace/platform/memberships';
import type { CopyResourceRequest } from '@commonplace/proto/resources/v1/copy_service.js';
import { countComments } from '../comments/queries.js';
import { MAX_COPIED_BYTES, MAX_DEPTH } from '../config.js';
import {
  copiedBytes,
  copyId,
  copyName,
  inPieces,
  type Layout,
  layOut,
  type PlannedCopy,
  type SourceNode,
} from '../domain/copy.js';
import type { Copier } from '../domain/grant.js';
import { isAttachment, type Node, parentId } from '../domain/node.js';
import { MIN_ROLE, may } from '../domain/role.js';
import { placeUnder } from '../domain/tree.js';
import { DepthExceeded, FileNotReady } from '../errors.js';
import { countArrival } from '../nodes/arrivals.js';
import type { CopyProgress, TreeJob } from '../nodes/jobs.js';
import type { AccessSubject } from '../policy.js';
import { grantTerms } from '../sharing/copy-grants.js';
import { endOfOwn } from '../sharing/own-terms.js';
import { destinationOf } from '../tree/create.js';
import { type Destination, intoParent, intoRoot, requireNoCycle, requireSameTenant } from '../tree/destination.js';
import { requireWidth, reservePlaces } from '../tree/reserve.js';
import { requestedPosition } from '../tree/siblings.js';
import { copyNodes } from './copy-nodes.js';
import { copyPlanned } from './copy-planned.js';
import { makeCopiedTags } from './copy-tags.js';
import type { CopyParts } from './parts.js';
import { copyPieceId } from './records.js';
import { renamingOf } from './renaming.js';
import { attachmentsOf, type Sources, sourcesBelow, whyNotCopied } from './sources.js';

interface CopyResult extends Omit<Sources, 'nodes'> {
  readonly head: Node;
  /** Number of children that the head has now. */
  readonly children: number;
  /** Number of copies, including the head. */
  readonly count: number;
  readonly running: boolean;
}

/** Copies a node with its descendants: in this call, or the head now and the rest by a job. */
export async function copyResource(
  parts: CopyParts,
  request: CopyResourceRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<CopyResult> {
  const { node, access } = await parts.policy.see(request.resourceId, subject);
  const destination = await destinationOfCopy(parts, request, node, subject, context);
  requireSameTenant(node, destination);
  if (whyNotCopied(node) !== undefined) throw FileNotReady({ status: node.file?.status ?? 'failed' });
  const key = context.callId;
  const id = copyId(key, node.id);
  const open = { ...placeUnder(destination.parent, { id, restricted: false }), id };
  const grants = request.includePermissions ? await grantTerms(parts, node, open, subject) : undefined;
  const copier = await copierAt(parts, destination, subject);
  const position = await requestedPosition(parts, destination.key, request.position, subject, context);
  const gather = (request.includeChildren ?? true) ? sourcesBelow : attachmentsOf;
  const { nodes, skipped, skippedCount } = await gather(parts, node, subject);
  const breathe = createBreathe(context.signal);
  const layout = await layOut(node, nodes, breathe);
  await requireRoom(parts, destination, layout, id, context);

  const sizes = request.includeComments ? await withComments(parts, [node, ...nodes]) : [node, ...nodes];
  const bytes = sizes.reduce((sum, one) => sum + copiedBytes(one), 0);
  const running = layout.copies.length >= parts.settings.inlineCopy || (nodes.length > 0 && bytes > MAX_COPIED_BYTES);
  const terms = {
    renamed: await renamingOf(key, [node, ...nodes], breathe),
    withComments: request.includeComments,
    grants,
    copier,
    createdForId: personBehind(context.actor, context.caller),
    newTags: await makeCopiedTags(parts, [node, ...nodes], destination.parent, subject, context),
  };
  const granted = grants !== undefined && may(access.role, 'manage');
  const restricted = granted && node.restricted;
  const [head] = await copyNodes(
    parts,
    [
      {
        from: node,
        id,
        place: placeUnder(destination.parent, { id, restricted }),
        parentKey: destination.key,
        name: request.name ?? copyName(node.name),
        position,
        restricted,
        granted,
        attachment: isAttachment(node.type, destination.parent),
      },
    ],
    terms,
    context,
  );
  if (running)
    await queue(
      parts,
      key,
      request,
      head as Node,
      layout,
      sizes,
      { grants, copier, reader: subject.link === undefined ? subject.caller : undefined },
      context,
    );
  else await copyPlanned(parts, key, layout.copies, terms, context);
  const children = running ? 0 : layout.children;
  return { head: head as Node, children, count: 1 + layout.copies.length, running, skipped, skippedCount };
}

/** What decides how much copying a node writes. */
type CopiedSize = Pick<SourceNode, 'id' | 'type' | 'sizeBytes'>;

/** Bytes that a comment of usual length takes. */
const COMMENT_BYTES = 1024;

/** Adds the sizes of the comments to those of the documents, so that a copy does not write all of them at once. */
export async function withComments(
  parts: Pick<CopyParts, 'comments'>,
  nodes: readonly CopiedSize[],
): Promise<CopiedSize[]> {
  const documents = nodes.filter(({ type }) => type === 'document').map(({ id }) => id);
  const counts = await countComments(parts, documents);
  return nodes.map(({ id, type, sizeBytes }) => {
    return { id, type, sizeBytes: sizeBytes + (counts.get(id) ?? 0) * COMMENT_BYTES };
  });
}

/** Returns the caller as the manager of restricted copies, until they may no longer write at the destination. */
async function copierAt(parts: CopyParts, { node }: Destination, subject: AccessSubject): Promise<Copier> {
  const { userId } = subject.caller;
  const access = node && (await parts.policy.accessTo(node, subject));
  if (node === undefined || access === undefined) return { userId };
  return { userId, expiresAt: await endOfOwn(parts.policy, { node, access }, MIN_ROLE.write, subject) };
}

/** Returns the destination of a copy: the requested one, else the parent of the source. */
async function destinationOfCopy(
  parts: CopyParts,
  request: CopyResourceRequest,
  node: Node,
  subject: AccessSubject,
  context: CallContext,
): Promise<Destination> {
  const asked = request.parentId !== undefined || request.workspaceId !== undefined;
  if (asked) return destinationOf(parts, request, subject, context);
  const beside = parentId(node);
  if (beside === undefined) return intoRoot(parts, node.workspaceId, subject, context);
  const parent = await parts.tree.get(beside);
  const hidden = parent === undefined || (await parts.policy.accessTo(parent, subject)) === undefined;
  // A caller who was given a single item does not learn its parent.
  if (hidden) throw WorkspaceRequired({}, { param: 'workspace_id' });
  return intoParent(parts, beside, subject, context);
}

async function requireRoom(
  parts: CopyParts,
  destination: Destination,
  layout: Layout,
  id: string,
  context: CallContext,
): Promise<void> {
  if (destination.depth + 1 + layout.height > MAX_DEPTH) throw DepthExceeded({ limit: MAX_DEPTH });
  requireWidth(parts, layout.width);
  await reservePlaces(parts, destination, context.work, { id, resources: 1 + layout.copies.length });
  if (layout.height === 0) return;
  // A concurrent move of an ancestor would change the depth that was checked.
  await requireNoCycle(parts, id, destination, context);
  const { workspaceId } = destination.parent;
  await countArrival(parts.arrivals, context.work, { workspaceId, height: layout.height });
}

/** Stores the plan of a copy job in pieces. Returns the number of pieces. */
export async function planPieces(
  parts: CopyParts,
  { id, tenant }: Pick<TreeJob, 'id' | 'tenant'>,
  layout: Layout,
  nodes: readonly CopiedSize[],
  { work, signal }: CallContext,
): Promise<number> {
  const breathe = createBreathe(signal);
  const sizes = new Map<string, number>();
  for (const one of nodes) {
    sizes.set(one.id, copiedBytes(one));
    await breathe();
  }
  const { inlineCopy } = parts.settings;
  const sizeOf = ({ id: source }: PlannedCopy) => sizes.get(source) ?? 0;
  const pieces = await inPieces(layout.copies, inlineCopy, MAX_COPIED_BYTES, sizeOf, breathe);
  for (const [number, copies] of pieces.entries()) {
    work.insert(parts.copyPieces, { id: copyPieceId(id, number), tenant, jobId: id, number, copies });
    await breathe();
  }
  return pieces.length;
}

/** Queues the job that copies the descendants, with its plan. */
async function queue(
  parts: CopyParts,
  id: string,
  { resourceId, includeComments }: CopyResourceRequest,
  head: Node,
  layout: Layout,
  nodes: readonly CopiedSize[],
  rights: Pick<CopyProgress, 'grants' | 'copier' | 'reader'>,
  context: CallContext,
): Promise<void> {
  const { tenant, workspaceId } = head;
  const pieces = await planPieces(parts, { id, tenant }, layout, nodes, context);
  const createdAt = new Date().toISOString();
  context.work.insert(parts.jobs, {
    id,
    tenant,
    headId: head.id,
    workspaceIds: [workspaceId],
    reserved: { workspaceId, resources: layout.copies.length },
    kind: 'copy',
    // No node's place depends on this job, so reads ignore it.
    sweep: true,
    copy: {
      sourceId: resourceId,
      ...rights,
      pieces,
      done: 0,
      ...(includeComments && { withComments: true }),
    },
    actor: context.actor,
    personId: personBehind(context.actor, context.caller),
    traceparent: traceparentNow(),
    createdAt,
    leaseUntil: createdAt,
  });
}
