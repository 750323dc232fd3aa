import type { CallContext } from '@commonplace/kit/rpc';
import type { PreparedWrite } from '../content/kind.js';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import { keepReplaced } from './snapshots.js';

/** How a content came to be changed; what events say. */
export type WriteReason = 'replace' | 'edit' | 'append' | 'prepend' | 'upsert' | 'restore';

export interface WriteOptions {
  readonly reason: WriteReason;
  /** Whether the caller has said which version the write is meant for. */
  readonly preconditioned: boolean;
}

export interface WrittenContent {
  readonly node: Node;
  readonly changed: boolean;
  /** The snapshot that keeps what was replaced. */
  readonly snapshotId: string | undefined;
}

/** Does a prepared write: keeps what it replaces where that has to be, bumps both versions, tells of it. */
export async function writeContent(
  parts: Parts,
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
  const after = context.work.replace(parts.tree.nodes, node, {
    ...node,
    sizeBytes: prepared.sizeBytes,
    contentVersion: node.contentVersion + 1,
    written: { at, by, credential: context.caller.credential.id },
    updatedAt: at,
    updatedBy: by,
  });
  await prepared.apply();
  publishChange(context, { verb: 'content.updated', fields: ['content'], reason: options.reason }, after);
  return { node: after, changed: true, snapshotId };
}

/** Says beside the answer what a kind has to say about a write. */
export function warn({ warnings }: Pick<PreparedWrite, 'warnings'>, { reply }: CallContext): void {
  if (warnings.length > 0) reply.warnings = [...warnings];
}
