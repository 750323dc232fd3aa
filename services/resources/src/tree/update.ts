import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { isChanged } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import { AccessMode } from '@commonplace/proto/resources/v1/resource.js';
import { UpdateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { MAX_METADATA_BYTES } from '../config.js';
import type { ContentInput } from '../content/kind.js';
import type { Node } from '../domain/node.js';
import { isContainer, placeUnder, rootPlace } from '../domain/tree.js';
import { ExternalIdTaken, insufficientScope } from '../errors.js';
import { publishChange } from '../events.js';
import { requireKind } from '../kinds.js';
import { countMove } from '../nodes/arrivals.js';
import { replaceNode } from '../nodes/replace.js';
import { noteShift } from '../nodes/shifts.js';
import { announce, type Below, enqueue, loadBelow } from '../nodes/subtree.js';
import { type AccessSubject, requireCapability, requireWritable, type Seen } from '../policy.js';
import { publishAccessMode } from '../sharing/events.js';
import { keepManager, moveGrants } from '../sharing/grants.js';
import { endOfOwn } from '../sharing/own-terms.js';
import { writeContent } from '../snapshots/write-content.js';
import { wantedTags } from '../tags/wanted-tags.js';
import { requireFreeKeys, withFreeKeys } from './external-keys.js';
import { parseMetadata } from './metadata.js';
import type { TreeParts } from './parts.js';
import { accessChange, moves, newHome, placed, requireDepth, reserveMove, rewriteBelow } from './place.js';
import { freeExternalKey } from './trash.js';

interface UpdateResult {
  readonly node: Node;
  readonly accessChange: { gained: string[]; lost: string[] } | undefined;
}

type Request = UpdateResourceRequest & { readonly input?: ContentInput | undefined };

/** Applies a PATCH to a node: checks it, then writes its fields, its place and its descendants. */
export async function updateNode(
  parts: TreeParts,
  seen: Seen,
  request: Request,
  subject: AccessSubject,
  context: CallContext,
): Promise<UpdateResult> {
  const { node } = seen;
  const mask = new Set(request.updateMask ?? []);
  requireRights(seen, mask, subject);
  const asksMove = moves(request, mask);
  const destination = asksMove ? await newHome(parts, node, request, mask, subject, context) : undefined;
  requireWritable(seen, request.isLocked === false);
  requireVersion(context, node.version, node);

  let after = await withFields(parts, node, request, mask, context);
  if (destination !== undefined) after = await placed(parts, after as Node, destination, request, subject, context);
  if (mask.has('tags') && !request.dryRun) {
    after = { ...after, tags: await wantedTags(parts, after, request.tags, subject, context) };
  }
  if (mask.has('access_mode')) after = await restricted(parts, after, request.accessMode === AccessMode.RESTRICTED);
  const relocates = after.boundary !== node.boundary || after.parentKey !== node.parentKey;
  const arrivals = relocates ? await context.work.get(parts.arrivals, node.workspaceId) : undefined;
  const below: Below = relocates ? await loadBelow(parts, node) : { nodes: [] };
  const height = destination === undefined ? 0 : await requireDepth(parts, node, destination, below);
  if (relocates) await requireFreeKeys(parts, node, after);
  const change = relocates && asksMove ? await accessChange(parts, node, after) : undefined;
  const work = request.dryRun ? parts.store.begin() : context.work;
  const reserved = destination === undefined ? undefined : await reserveMove(parts, node, destination, below, work);
  if (request.dryRun) return { node: { ...after, version: node.version }, accessChange: change };
  if (destination !== undefined && destination.key !== node.parentKey) {
    const arrival = { workspaceId: after.workspaceId, height, depth: destination.depth + 1 };
    await countMove(parts.arrivals, work, arrival, { workspaceId: node.workspaceId, before: arrivals });
  }
  if (!isChanged(node, after))
    return { node: await replaceContent(parts, node, request.input, context), accessChange: change };

  if (relocates && isContainer(node.type)) {
    const job = { kind: 'place', workspaceIds: [...new Set([node.workspaceId, after.workspaceId])] } as const;
    if (below === 'large') await announce(parts, context, node, { ...job, reserved });
    else enqueue(parts, context, { ...job, tenant: after.tenant, headId: node.id, sweep: true });
  }
  const changesAccess = change !== undefined && change.gained.length + change.lost.length > 0;
  noteShift(parts.shifts, context.work, node, after, { large: below === 'large', changesAccess });
  const [keyed] = relocates ? await withFreeKeys(parts, [after]) : [];
  const written = await write(parts, seen, keyed ?? after, subject, context);
  const moved = below === 'large' ? [] : await rewriteBelow(parts, written, below.nodes, context);
  const verb = asksMove ? 'resource.moved' : 'resource.updated';
  publishChange(context, { verb, fields: [...mask] }, written, moved);
  if (written.restricted !== node.restricted) publishAccessMode(context, written);
  return { node: await replaceContent(parts, written, request.input, context), accessChange: change };
}

/** Restricts a node, or lets it inherit again, as a PATCH would. Returns the updated node. */
export async function setAccessMode(
  parts: TreeParts,
  seen: Seen,
  accessMode: AccessMode,
  subject: AccessSubject,
  context: CallContext,
): Promise<Node> {
  if (seen.node.restricted === (accessMode === AccessMode.RESTRICTED)) return seen.node;
  const request = UpdateResourceRequest.fromPartial({
    resourceId: seen.node.id,
    updateMask: ['access_mode'],
    accessMode,
  });
  return (await updateNode(parts, seen, request, subject, context)).node;
}

/** Throws unless the caller may write, and manage if the request changes access or the lock. */
function requireRights(seen: Seen, mask: ReadonlySet<string>, subject: AccessSubject): void {
  requireCapability(seen, 'write');
  if (mask.has('is_locked') || mask.has('access_mode')) requireCapability(seen, 'manage');
  if (mask.has('access_mode') && !subject.caller.credential.scopes.includes('share:write')) {
    throw insufficientScope('share:write');
  }
}

/** Returns the node with the fields that the request changes. */
async function withFields(
  parts: TreeParts,
  node: Node,
  request: Request,
  mask: ReadonlySet<string>,
  context: CallContext,
): Promise<Omit<Node, 'version'>> {
  const after: { -readonly [F in keyof Node]: Node[F] } = {
    ...node,
    updatedAt: new Date().toISOString(),
    updatedBy: context.actor,
  };
  if (mask.has('name') && request.name !== undefined) {
    after.name = request.name;
    after.nameFold = foldName(request.name);
  }
  if (mask.has('icon')) after.icon = request.icon;
  if (mask.has('description')) after.description = request.description;
  if (mask.has('metadata')) after.metadata = parseMetadata(request.metadata, MAX_METADATA_BYTES);
  if (mask.has('is_locked')) after.locked = request.isLocked === true;
  if (mask.has('external_id') && request.externalId !== node.externalId) {
    after.externalId = request.externalId;
    after.externalKey = await freeExternalKey(parts, after);
    if (after.externalId !== undefined && after.externalKey === undefined) {
      throw ExternalIdTaken({ external_id: after.externalId });
    }
  }
  return after;
}

/** Returns the node restricted or inheriting, with its new boundary. */
async function restricted(parts: TreeParts, node: Omit<Node, 'version'>, cut: boolean): Promise<Omit<Node, 'version'>> {
  const parent =
    node.parentKey === node.workspaceId
      ? rootPlace(node.workspaceId, node.orgId)
      : await parts.tree.get(node.parentKey);
  if (parent === undefined) throw new Error(`${node.id} has no parent`);
  const { boundary } = placeUnder(parent, { id: node.id, restricted: cut });
  return { ...node, restricted: cut, boundary };
}

/** Writes the head; a person who restricts it stays its manager by a grant of their own. */
async function write(
  parts: TreeParts,
  seen: Seen,
  after: Omit<Node, 'version'>,
  subject: AccessSubject,
  context: CallContext,
): Promise<Node> {
  const { node: before } = seen;
  await moveGrants(parts, context.work, before, after);
  const written = replaceNode(parts, context.work, before, after);
  if (!after.restricted || before.restricted) return written;
  return keepManager(parts, written, context, await endOfOwn(parts.policy, seen, 'manager', subject));
}

/** Replaces the content, if a creation that matched an existing resource contained one. */
async function replaceContent(
  parts: TreeParts,
  node: Node,
  input: ContentInput | undefined,
  context: CallContext,
): Promise<Node> {
  if (input === undefined) return node;
  const prepared = await requireKind(parts.kinds, node.type).write(node, input, context);
  const written = await writeContent(parts, node, prepared, { reason: 'replace', preconditioned: false }, context);
  return written.node;
}
