import { personBehind } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { keyset, type Scalar, type UnitOfWork } from '@commonplace/kit/store';
import { MAX_AUTOMATIC_SNAPSHOTS } from '../config.js';
import type { PreparedWrite } from '../content/kind.js';
import { lastWrite } from '../content/message.js';
import type { Node } from '../domain/node.js';
import { NoSuchSnapshot } from '../errors.js';
import { requireKind } from '../kinds.js';
import { publishSnapshot } from './events.js';
import type { SnapshotParts } from './parts.js';
import {
  lastingSnapshot,
  NEWEST_FIRST,
  newestAutomatic,
  newestSnapshot,
  type SnapshotReason,
  type SnapshotRecord,
} from './records.js';

/** How a content was changed; events contain it. */
export type WriteReason = 'replace' | 'edit' | 'append' | 'prepend' | 'upsert' | 'restore';

export interface WriteOptions {
  readonly reason: WriteReason;
  /** Whether the caller has stated the version that the write is based on. */
  readonly preconditioned: boolean;
}

const DAY_MS = 86_400_000;
/** Minimum milliseconds between automatic snapshots while the same credential rewrites its own content. */
const OWN_REWRITES_MS = 300_000;

/**
 * Saves the content that a write replaces, by the rules for automatic snapshots. Returns the id of the snapshot that
 * holds it; undefined if it need not be saved.
 */
export async function keepReplaced(
  parts: SnapshotParts,
  node: Node,
  prepared: PreparedWrite,
  options: WriteOptions,
  context: CallContext,
): Promise<string | undefined> {
  const held = await lastingSnapshot(parts.snapshots, node);
  if (held !== undefined) return held.id;
  const must = mustKeepReplaced(node, prepared, options, context);
  if (!must && (await isRecent(parts, node))) return undefined;
  const kept = await keep(parts, node, { reason: reasonFor(must, options, context), automatic: true }, context);
  await prune(parts, node, context.work);
  return kept.id;
}

function mustKeepReplaced(node: Node, { loses }: PreparedWrite, options: WriteOptions, context: CallContext): boolean {
  if (loses || options.reason === 'restore') return true;
  // Appending and prepending lose nothing, whatever the content is.
  const adds = options.reason === 'append' || options.reason === 'prepend';
  if (!options.preconditioned && !adds) return true;
  return !wroteLast(node, context);
}

/**
 * Returns whether the caller's credential wrote the content last; for content from creation only the actor is known.
 */
function wroteLast(node: Node, { caller, actor }: Pick<CallContext, 'caller' | 'actor'>): boolean {
  if (node.written !== undefined) return node.written.credential === caller.credential.id;
  return node.createdBy.type === actor.type && node.createdBy.id === actor.id;
}

async function isRecent(parts: SnapshotParts, node: Node): Promise<boolean> {
  const last = await newestAutomatic(parts.snapshots, node.id);
  return last !== undefined && Date.now() - Date.parse(last.createdAt) < OWN_REWRITES_MS;
}

function reasonFor(must: boolean, { reason }: WriteOptions, { actor }: CallContext): SnapshotReason {
  if (reason === 'restore') return 'before_restore';
  if (actor.type === 'agent') return 'agent_run';
  if (actor.type === 'import') return 'import';
  return must ? 'before_replace' : 'auto';
}

interface NewSnapshot {
  readonly reason: SnapshotReason;
  readonly automatic: boolean;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

/** Saves the current content as a snapshot. */
async function keep(
  parts: SnapshotParts,
  node: Node,
  wanted: NewSnapshot,
  context: CallContext,
): Promise<SnapshotRecord> {
  const id = newId();
  const now = Date.now();
  const { sizeBytes, hash } = await requireKind(parts.kinds, node.type).keep(node, id, context);
  const { updatedAt, updatedBy } = lastWrite(node);
  const snapshot = context.work.insert(parts.snapshots, {
    id,
    tenant: node.tenant,
    resourceId: node.id,
    type: node.type,
    ...wanted,
    contentVersion: node.contentVersion,
    sizeBytes,
    hash,
    written: { at: updatedAt, by: updatedBy },
    createdBy: context.actor,
    createdForId: personBehind(context.actor, context.caller),
    createdAt: new Date(now).toISOString(),
    expiresAt: wanted.automatic ? new Date(now + parts.settings.snapshotDays * DAY_MS).toISOString() : undefined,
  });
  publishSnapshot(context, snapshot, node);
  return snapshot;
}

/** Deletes the oldest automatic snapshots of a node above the limit; keeps those of the last day. */
async function prune(parts: SnapshotParts, node: Node, work: UnitOfWork): Promise<void> {
  const automatic = { resourceId: node.id, automatic: true } as const;
  const tooMany = (await parts.snapshots.count(automatic, MAX_AUTOMATIC_SNAPSHOTS + 20)) + 1 - MAX_AUTOMATIC_SNAPSHOTS;
  if (tooMany <= 0) return;
  const createdAt = { lt: new Date(Date.now() - DAY_MS).toISOString() };
  const sort = ['createdAt', 'contentVersion'] as const;
  const old = await parts.snapshots.find({ where: { ...automatic, createdAt }, sort, limit: tooMany });
  for (const snapshot of old) await forget(parts, snapshot, work);
}

/** Deletes a snapshot and the content that it holds. */
export async function forget(
  parts: Pick<SnapshotParts, 'kinds' | 'snapshots'>,
  snapshot: SnapshotRecord,
  work: UnitOfWork,
): Promise<void> {
  await requireKind(parts.kinds, snapshot.type).forget({ id: snapshot.resourceId }, snapshot.id, { work });
  work.remove(parts.snapshots, snapshot);
}

/** Takes a manual snapshot; returns the newest one if the content has not changed since. Throws `limit_reached`. */
export async function takeSnapshot(
  parts: SnapshotParts,
  node: Node,
  named: { readonly name?: string | undefined; readonly description?: string | undefined },
  context: CallContext,
): Promise<{ snapshot: SnapshotRecord; isNew: boolean }> {
  const newest = await newestSnapshot(parts.snapshots, node.id);
  if (newest?.contentVersion === node.contentVersion) return { snapshot: newest, isNew: false };
  await parts.quotas.snapshots.reserve(context.work, node.id);
  // The snapshot must hold what the caller has seen, so the commit fails if the node has changed.
  context.work.expect(parts.tree.nodes, node);
  const { name, description } = named;
  return {
    snapshot: await keep(parts, node, { reason: 'manual', automatic: false, name, description }, context),
    isNew: true,
  };
}

/** Returns whether a snapshot cannot be deleted yet: the newest automatic one is protected for a day. */
export async function isProtected(parts: SnapshotParts, snapshot: SnapshotRecord): Promise<boolean> {
  if (!snapshot.automatic || Date.now() - Date.parse(snapshot.createdAt) >= DAY_MS) return false;
  return (await newestAutomatic(parts.snapshots, snapshot.resourceId))?.id === snapshot.id;
}

/** Number of snapshots of one node that one query reads. */
const SNAPSHOTS_PER_QUERY = 200;

/** Deletes all snapshots of some nodes. Returns the number of bytes that this frees. */
export async function forgetAllOf(parts: SnapshotParts, ids: readonly string[], work: UnitOfWork): Promise<number> {
  let freed = 0;
  const holders = await parts.snapshots.countBy('resourceId', { resourceId: { in: ids } });
  for (const resourceId of holders.keys()) {
    for (let after: Scalar[] | undefined, more = true; more; ) {
      const limit = SNAPSHOTS_PER_QUERY;
      const found = await parts.snapshots.find({ where: { resourceId }, sort: NEWEST_FIRST, limit, after });
      for (const snapshot of found) {
        freed += snapshot.sizeBytes;
        await forget(parts, snapshot, work);
      }
      more = found.length === limit;
      after = more ? keyset(found.at(-1) as SnapshotRecord, NEWEST_FIRST) : undefined;
    }
  }
  return freed;
}

/** Returns a snapshot of a node. Throws `not_found` for a snapshot of another node. */
export async function snapshotOf({ snapshots }: Pick<SnapshotParts, 'snapshots'>, node: Node, id: string) {
  const snapshot = await snapshots.get(id);
  if (snapshot?.resourceId !== node.id) throw NoSuchSnapshot();
  return snapshot;
}
