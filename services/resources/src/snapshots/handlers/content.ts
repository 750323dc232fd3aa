import { invalidField } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { requireCursor } from '@commonplace/kit/store';
import {
  CellFormat,
  type Content,
  type ContentService,
  type GetContentRequest,
  type ReplaceContentRequest,
} from '@commonplace/proto/resources/v1/content_service.js';
import { modeName, modeOf, requireOneSource } from '../../content/input.js';
import type { ContentKind, ContentQuery, Payload, PreparedWrite } from '../../content/kind.js';
import { contentMessage, lastWrite } from '../../content/message.js';
import type { Node } from '../../domain/node.js';
import { ContentNotSupported, NoSuchSnapshot } from '../../errors.js';
import { requireKind } from '../../kinds.js';
import { requireCapability, requireWritable } from '../../policy.js';
import { snapshotOf, type WriteReason } from '../commands.js';
import type { SnapshotParts } from '../parts.js';
import { type SnapshotRecord, snapshotOfVersion } from '../records.js';
import { writeContent } from '../write-content.js';

export function createContentHandlers(parts: SnapshotParts): Handlers<ContentService> {
  const { policy } = parts;
  return {
    async getContent(request, context) {
      const subject = await policy.subject(context);
      const { node } = await policy.see(request.resourceId, subject);
      const kind = requireKind(parts.kinds, node.type);
      requireCursor(request.page);
      const snapshot = await askedSnapshot(parts, node, request);
      if (snapshot === undefined) return contentMessage(node, await kind.read(node, request, context));
      const payload = await kind.readKept(node, snapshot.id, request, context);
      return contentMessage(asKept(node, snapshot), payload);
    },

    async replaceContent(request, context) {
      const subject = await policy.subject(context);
      const seen = await policy.see(request.resourceId, subject);
      requireCapability(seen, 'write');
      const { node } = seen;
      const kind = requireKind(parts.kinds, node.type);
      if (node.type === 'file') throw ContentNotSupported({ type: node.type });
      requireOneSource(request, node.type, request.snapshotId);
      const prepared = await prepare(parts, kind, node, request, context);
      requireWritable(seen);
      requireVersion(context, node.contentVersion, lastWrite(node));
      const preconditioned = context.metadata.baseVersion !== undefined;
      const options = { reason: reasonOf(request), preconditioned };
      const written = await writeContent(parts, node, prepared, options, context);
      const payload = await answerOf(kind, written.node, prepared, { ...WHOLE, format: request.format }, context);
      return writtenMessage(written, payload, node.contentVersion);
    },
  };
}

/** Returns the snapshot that holds the requested version; undefined for the current one. */
async function askedSnapshot(
  { snapshots }: SnapshotParts,
  node: Node,
  { version, snapshotId }: Pick<GetContentRequest, 'version' | 'snapshotId'>,
): Promise<SnapshotRecord | undefined> {
  if (version !== undefined && snapshotId !== undefined) {
    throw invalidField('version', 'conflicting_alias', 'version and snapshot_id both name a state: send one of them.');
  }
  if (snapshotId !== undefined) return snapshotOf({ snapshots }, node, snapshotId);
  if (version === undefined || version === node.contentVersion) return undefined;
  const found = await snapshotOfVersion(snapshots, node.id, version);
  if (found === undefined) throw NoSuchSnapshot();
  return found;
}

/** Returns the node with the version and the last write of a snapshot's content. */
function asKept(node: Node, { contentVersion, written }: SnapshotRecord): Node {
  return { ...node, contentVersion, written: { ...written, credential: '' } };
}

async function prepare(
  parts: SnapshotParts,
  kind: ContentKind,
  node: Node,
  { snapshotId, ...input }: ReplaceContentRequest,
  context: CallContext,
): Promise<PreparedWrite> {
  if (snapshotId === undefined) return kind.write(node, input, context);
  const { id } = await snapshotOf(parts, node, snapshotId);
  return kind.restore(node, id, context);
}

function reasonOf(request: ReplaceContentRequest): WriteReason {
  return request.snapshotId === undefined ? (modeName(modeOf(request)) as WriteReason) : 'restore';
}

/** Query for the answer to a write: of a table its first rows, as in a read without parameters. */
const WHOLE: Omit<ContentQuery, 'format'> = {
  page: { limit: 100, offset: 0, cursor: '' },
  filter: '',
  sort: '',
  columns: [],
  cellFormat: CellFormat.UNSPECIFIED,
};

function answerOf(
  kind: ContentKind,
  node: Node,
  { answer }: PreparedWrite,
  query: ContentQuery,
  context: CallContext,
): Promise<Payload> {
  return answer === undefined ? kind.read(node, query, context) : answer(query);
}

function writtenMessage(
  { node, changed, snapshotId }: Awaited<ReturnType<typeof writeContent>>,
  payload: Payload,
  replacedVersion: number,
): Content {
  return { ...contentMessage(node, payload), replacedVersion, snapshotId, changed };
}
