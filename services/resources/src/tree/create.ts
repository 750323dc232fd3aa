import { personBehind } from '@commonplace/kit/auth';
import { AppError, InsufficientRole } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { foldName } from '@commonplace/kit/words';
import { openWorkspace } from '@commonplace/platform/memberships';
import { AccessMode } from '@commonplace/proto/resources/v1/resource.js';
import type { CreateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { MAX_DEPTH, MAX_METADATA_BYTES } from '../config.js';
import { creationInput, NO_INPUT } from '../content/input.js';
import type { ContentInput, Holder } from '../content/kind.js';
import type { Node, NodeType } from '../domain/node.js';
import { MIN_ROLE } from '../domain/role.js';
import { placeUnder } from '../domain/tree.js';
import { withWriter } from '../domain/untrusted.js';
import { DepthExceeded, UseFilesEndpoint } from '../errors.js';
import { publishChange } from '../events.js';
import { requireKind } from '../kinds.js';
import type { AccessSubject } from '../policy.js';
import { keepManager } from '../sharing/grants.js';
import { endOfOwn } from '../sharing/own-terms.js';
import { warn } from '../snapshots/write-content.js';
import { nodeType } from '../wire.js';
import { type Destination, intoParent, intoRoot, requireSameWorkspace } from './destination.js';
import { parseMetadata } from './metadata.js';
import type { TreeParts } from './parts.js';
import { reservePlaces } from './reserve.js';
import { requestedPosition } from './siblings.js';

/**
 * Returns the destination of a creation: the named parent, else the root of the workspace that the request or its
 * credential names.
 */
export async function destinationOf(
  parts: TreeParts,
  request: Pick<CreateResourceRequest, 'parentId' | 'workspaceId'>,
  subject: AccessSubject,
  context: CallContext,
): Promise<Destination> {
  if (request.parentId !== undefined) {
    const destination = await intoParent(parts, request.parentId, subject, context);
    requireSameWorkspace(destination, request.workspaceId);
    return destination;
  }
  return openWorkspace(subject.caller, request.workspaceId, (id) => intoRoot(parts, id, subject, context));
}

/** Adds a new node, with its content if it has one, to this call's work. `tags` are ids of tags of its workspace. */
export async function createNode(
  parts: TreeParts,
  request: CreateResourceRequest,
  destination: Destination,
  subject: AccessSubject,
  context: CallContext,
  tags: Node['tags'] = [],
): Promise<Node> {
  const type = creatable(request);
  const input = creationInput(request, type);
  const id = newId();
  const now = new Date().toISOString();
  const restricted = request.accessMode === AccessMode.RESTRICTED;
  // A restriction makes its creator a manager, and agents must not manage.
  if (restricted && context.caller.agent !== undefined) throw InsufficientRole({ needed: MIN_ROLE.manage });
  const place = placeUnder(destination.parent, { id, restricted });
  const { externalId } = request;
  // Fields are assigned one by one, because an object literal that starts with a spread takes 200 times as long.
  const holder: Omit<Node, 'version'> & { sizeBytes: number } = {
    tenant: place.tenant,
    orgId: place.orgId,
    workspaceId: place.workspaceId,
    ancestors: place.ancestors,
    boundary: place.boundary,
    id,
    parentKey: destination.key,
    type,
    name: request.name,
    nameFold: foldName(request.name),
    icon: request.icon,
    description: request.description,
    position: await requestedPosition(parts, destination.key, request.position, subject, context),
    restricted,
    locked: false,
    state: 'active',
    externalId,
    externalKey: externalId === undefined ? undefined : `${place.workspaceId}:${externalId}`,
    metadata: parseMetadata(request.metadata, MAX_METADATA_BYTES),
    tags,
    principals: [],
    contentVersion: 1,
    sizeBytes: 0,
    untrusted: withWriter(undefined, await parts.policy.untrustedWriter(place.workspaceId, context)),
    createdBy: context.actor,
    createdById: context.actor.id,
    createdForId: personBehind(context.actor, context.caller),
    updatedBy: context.actor,
    createdAt: now,
    updatedAt: now,
  };
  const prepared = contentFor(parts, holder, input, context);
  // Avoids an await for content that is ready.
  const content = prepared instanceof Promise ? await prepared : prepared;
  if (destination.depth + 1 > MAX_DEPTH) throw DepthExceeded({ limit: MAX_DEPTH });
  await reservePlaces(parts, destination, context.work, { id });
  if (content !== undefined) holder.sizeBytes = content.sizeBytes;
  const node = context.work.insert(parts.tree.nodes, holder);
  const applied = content?.apply();
  if (applied !== undefined) await applied;
  if (content !== undefined) warn(content, context);
  parts.counters.add(context.work, [node], 1);
  const granted = restricted ? await keepCreator(parts, node, destination, subject, context) : node;
  publishChange(context, { verb: 'resource.created' }, granted);
  return granted;
}

/** Makes the creator of a restricted node its manager, as long as they may write where they have put it. */
export async function keepCreator(
  parts: TreeParts,
  node: Node,
  destination: Destination,
  subject: AccessSubject,
  context: CallContext,
): Promise<Node> {
  const above = destination.node;
  const access = above && (await parts.policy.accessTo(above, subject));
  const end = above && access && (await endOfOwn(parts.policy, { node: above, access }, MIN_ROLE.write, subject));
  return keepManager(parts, node, context, end);
}

/** Returns the initial content of a new node: from the request, or the default of its kind. */
function contentFor(parts: TreeParts, holder: Holder, input: ContentInput | undefined, context: CallContext) {
  if (input === undefined && (holder.type === 'document' || parts.kinds[holder.type] === undefined)) return undefined;
  return requireKind(parts.kinds, holder.type).create(holder, input ?? NO_INPUT, context);
}

function creatable(request: CreateResourceRequest): NodeType {
  const type = nodeType(request.type);
  if (type === undefined)
    throw new AppError('INVALID_ARGUMENT', 'missing_field', 'type is required.', { param: 'type' });
  if (type === 'file') throw UseFilesEndpoint({}, { param: 'type' });
  return type;
}
