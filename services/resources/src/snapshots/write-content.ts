import type { CallContext } from '@commonplace/kit/rpc';
import type { PreparedWrite } from '../content/kind.js';
import type { Node } from '../domain/node.js';
import { withWriter } from '../domain/untrusted.js';
import { publishChange, publishRows } from '../events.js';
import { replaceNode } from '../nodes/replace.js';
import { keepReplaced, type WriteOptions } from './commands.js';
import type { SnapshotParts } from './parts.js';

interface WrittenContent {
  readonly node: Node;
  readonly changed: boolean;
  /** Id of the snapshot that holds the replaced content. */
  readonly snapshotId: string | undefined;
}

/** Performs a prepared write: takes a snapshot if needed, increments both versions and publishes the change. */
export async function writeContent(
  parts: SnapshotParts,
  node: Node,
  prepared: PreparedWrite,
  options: WriteOptions,
  context: CallContext,
): Promise<WrittenContent> {
  warn(prepared, context);
  if (!prepared.changed) return { node, changed: false, snapshotId: undefined };
  const snapshotId = await keepReplaced(parts, node, prepared, options, context);
  const at = new Date().toISOString();
  const by = context.actor;
  const writer = await parts.policy.untrustedWriter(node.workspaceId, context);
  const after = replaceNode(parts, context.work, node, {
    ...node,
    sizeBytes: prepared.sizeBytes,
    contentVersion: node.contentVersion + 1,
    written: { at, by, credential: context.caller.credential.id },
    untrusted: withWriter(node.untrusted, writer),
    updatedAt: at,
    updatedBy: by,
  });
  await prepared.apply();
  publishChange(context, { verb: 'content.updated', fields: ['content'], reason: options.reason }, after);
  publishRows(context, prepared.rows ?? [], after);
  return { node: after, changed: true, snapshotId };
}

/** Adds the warnings of a write to the reply. */
export function warn({ warnings }: Pick<PreparedWrite, 'warnings'>, { reply }: CallContext): void {
  if (warnings.length > 0) reply.warnings = [...(reply.warnings ?? []), ...warnings];
}
