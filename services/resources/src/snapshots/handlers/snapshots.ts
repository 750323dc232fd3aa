import { invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { requireCursor } from '@commonplace/kit/store';
import { actorMessage } from '@commonplace/platform/actors';
import { namesByValue, valuesByName } from '@commonplace/platform/enums';
import { CellFormat } from '@commonplace/proto/resources/v1/content_service.js';
import {
  type ContentDiff,
  type GetSnapshotRequest,
  SnapshotReason as ReasonMessage,
  type Snapshot,
  type SnapshotService,
} from '@commonplace/proto/resources/v1/snapshot_service.js';
import { payloadMessage } from '../../content/message.js';
import type { Node } from '../../domain/node.js';
import { ContentNotSupported, SnapshotProtected } from '../../errors.js';
import { requireKind } from '../../kinds.js';
import { requireCapability, requireWritable, type Seen } from '../../policy.js';
import { forget, isProtected, snapshotOf, takeSnapshot } from '../commands.js';
import { diffStates } from '../diff.js';
import { listSnapshots } from '../list.js';
import type { SnapshotParts } from '../parts.js';
import type { SnapshotReason, SnapshotRecord } from '../records.js';

export function createSnapshotHandlers(parts: SnapshotParts): Handlers<SnapshotService> {
  const { policy, snapshots } = parts;

  async function see(resourceId: string, context: CallContext): Promise<Seen> {
    return policy.see(resourceId, await policy.subject(context));
  }

  return {
    async listSnapshots(request, context) {
      const { node } = await see(request.resourceId, context);
      requireSnapshots(parts, node);
      const { items, page } = await listSnapshots(snapshots, request, REASON_NAMES[request.reason]);
      return { items: items.map(snapshotMessage), page };
    },

    async createSnapshot(request, context) {
      const seen = await see(request.resourceId, context);
      requireCapability(seen, 'write');
      requireSnapshots(parts, seen.node);
      requireWritable(seen);
      const { snapshot, isNew } = await takeSnapshot(parts, seen.node, request, context);
      if (!isNew) context.reply.status = 200;
      return snapshotMessage(snapshot);
    },

    async getSnapshot(request, context) {
      const { node } = await see(request.resourceId, context);
      const kind = requireSnapshots(parts, node);
      requireCursor(request.page);
      const snapshot = await snapshotOf(parts, node, request.snapshotId);
      const payload = await kind.readKept(node, snapshot.id, { ...WHOLE, ...asked(request) }, context);
      const diff = request.diffTo === '' ? undefined : await diffTo(parts, node, snapshot, request.diffTo, context);
      return { ...payloadMessage(payload), ...snapshotMessage(snapshot), diff };
    },

    async deleteSnapshot(request, context) {
      const seen = await see(request.resourceId, context);
      requireCapability(seen, 'manage');
      requireSnapshots(parts, seen.node);
      const snapshot = await snapshotOf(parts, seen.node, request.snapshotId);
      requireWritable(seen);
      requireVersion(context, snapshot.version, { updatedBy: snapshot.createdBy, updatedAt: snapshot.createdAt });
      if (await isProtected(parts, snapshot)) throw SnapshotProtected();
      await forget(parts, snapshot, context.work);
      return { id: snapshot.id, deleted: true };
    },
  };
}

const WHOLE = { filter: '', sort: '', columns: [], cellFormat: CellFormat.UNSPECIFIED };

function asked({ format, page }: GetSnapshotRequest) {
  return { format, page };
}

/**
 * Returns the content kind of a node that has snapshots; throws for files, whose bytes are stored elsewhere, and for
 * folders.
 */
function requireSnapshots({ kinds }: SnapshotParts, { type }: Node) {
  if (type === 'file') throw ContentNotSupported({ type });
  return requireKind(kinds, type);
}

async function diffTo(
  parts: SnapshotParts,
  node: Node,
  from: SnapshotRecord,
  to: string,
  context: CallContext,
): Promise<ContentDiff> {
  if (to !== 'current' && !isUuid(to)) {
    throw invalidField('diff_to', 'invalid_value', 'diff_to must be `current` or the id of a snapshot.');
  }
  const other = to === 'current' ? undefined : await snapshotOf(parts, node, to);
  const state = other === undefined ? 'current' : { snapshotId: other.id };
  const kind = requireKind(parts.kinds, node.type);
  const diff = await diffStates(parts.deriver, kind, node, { snapshotId: from.id }, state, context);
  return { to, contentVersion: other?.contentVersion ?? node.contentVersion, ...diff };
}

const REASONS: Record<SnapshotReason, ReasonMessage> = valuesByName(ReasonMessage);

const REASON_NAMES: Partial<Record<ReasonMessage, SnapshotReason>> = namesByValue(ReasonMessage);

function snapshotMessage(snapshot: SnapshotRecord): Snapshot {
  return {
    id: snapshot.id,
    resourceId: snapshot.resourceId,
    name: snapshot.name,
    description: snapshot.description,
    reason: REASONS[snapshot.reason],
    contentVersion: snapshot.contentVersion,
    sizeBytes: snapshot.sizeBytes,
    contentHash: snapshot.hash,
    createdBy: actorMessage(snapshot.createdBy),
    createdAt: snapshot.createdAt,
    expiresAt: snapshot.expiresAt,
  };
}
