import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { keyset, type Scalar, type UnitOfWork } from '@commonplace/kit/store';
import { AUTOMATIC_SNAPSHOTS, NAMED_SNAPSHOTS } from '../config.js';
import type { PreparedWrite } from '../content/kind.js';
import { requireKind } from '../content/kinds.js';
import { lastWrite } from '../content/message.js';
import { LimitReached } from '../errors.js';
import { publishSnapshot } from '../events.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import {
  NEWEST_FIRST,
  newestAutomatic,
  newestSnapshot,
  type SnapshotReason,
  type SnapshotRecord,
} from '../stores/snapshots.js';
import type { WriteOptions } from './write-content.js';

export const DAY_MS = 86_400_000;
/** One's own rewrites leave a snapshot no more often. */
const OWN_REWRITES_MS = 300_000;

/**
 * Keeps what a write replaces, by the rules for automatic snapshots. Gives the id of the snapshot that
 * keeps it; undefined where it need not be kept.
 */
export async function keepReplaced(
  parts: Parts,
  node: Node,
  prepared: PreparedWrite,
  options: WriteOptions,
  context: CallContext,
): Promise<string | undefined> {
  const newest = await newestSnapshot(parts.snapshots, node.id);
  // One that stays keeps this very state already.
  if (newest?.contentVersion === node.contentVersion && newest.expiresAt === undefined) return newest.id;
  const must = mustKeep(node, prepared, options, context);
  if (!must && (await isRecent(parts, node, newest))) return undefined;
  const kept = await keep(parts, node, { reason: reasonFor(must, options, context), automatic: true }, context);
  await prune(parts, node, context.work);
  return kept.id;
}

function mustKeep(node: Node, { loses }: PreparedWrite, options: WriteOptions, context: CallContext): boolean {
  if (loses || options.reason === 'restore') return true;
  // What is added to loses nothing, whatever it is added to.
  const adds = options.reason === 'append' || options.reason === 'prepend';
  if (!options.preconditioned && !adds) return true;
  return !wroteLast(node, context);
}

/** Whether the caller's credential wrote the content last; of a creation only who made it is known. */
function wroteLast(node: Node, { caller, actor }: Pick<CallContext, 'caller' | 'actor'>): boolean {
  if (node.written !== undefined) return node.written.credential === caller.credential.id;
  return node.createdBy.type === actor.type && node.createdBy.id === actor.id;
}

async function isRecent(parts: Parts, node: Node, newest: SnapshotRecord | undefined): Promise<boolean> {
  const last = newest?.automatic ? newest : await newestAutomatic(parts.snapshots, node.id);
  return last !== undefined && Date.now() - Date.parse(last.createdAt) < OWN_REWRITES_MS;
}

function reasonFor(must: boolean, { reason }: WriteOptions, { actor }: CallContext): SnapshotReason {
  if (reason === 'restore') return 'before_restore';
  if (actor.type === 'agent') return 'agent_run';
  if (actor.type === 'import') return 'import';
  return must ? 'before_replace' : 'auto';
}

interface Wanted {
  readonly reason: SnapshotReason;
  readonly automatic: boolean;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

/** Keeps the present content. */
async function keep(parts: Parts, node: Node, wanted: Wanted, context: CallContext): Promise<SnapshotRecord> {
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
    createdAt: new Date(now).toISOString(),
    expiresAt: wanted.automatic ? new Date(now + parts.settings.snapshotDays * DAY_MS).toISOString() : undefined,
  });
  publishSnapshot(context, snapshot, node);
  return snapshot;
}

/** Keeps no more automatic snapshots of a node than there may be; those of the last day stay. */
async function prune(parts: Parts, node: Node, work: UnitOfWork): Promise<void> {
  const automatic = { resourceId: node.id, automatic: true } as const;
  const tooMany = (await parts.snapshots.count(automatic, AUTOMATIC_SNAPSHOTS + 20)) + 1 - AUTOMATIC_SNAPSHOTS;
  if (tooMany <= 0) return;
  const createdAt = { lt: new Date(Date.now() - DAY_MS).toISOString() };
  const sort = ['createdAt', 'contentVersion'] as const;
  const old = await parts.snapshots.find({ where: { ...automatic, createdAt }, sort, limit: tooMany });
  for (const snapshot of old) await forget(parts, snapshot, work);
}

/** Deletes a snapshot with what it keeps. */
export async function forget(
  parts: Pick<Parts, 'kinds' | 'snapshots'>,
  snapshot: SnapshotRecord,
  work: UnitOfWork,
): Promise<void> {
  await requireKind(parts.kinds, snapshot.type).forget({ id: snapshot.resourceId }, snapshot.id, { work });
  work.remove(parts.snapshots, snapshot);
}

/** Makes a snapshot that somebody asks for; the newest one again where nothing has changed since. */
export async function takeSnapshot(
  parts: Parts,
  node: Node,
  named: { readonly name?: string | undefined; readonly description?: string | undefined },
  context: CallContext,
): Promise<{ snapshot: SnapshotRecord; isNew: boolean }> {
  const newest = await newestSnapshot(parts.snapshots, node.id);
  if (newest?.contentVersion === node.contentVersion) return { snapshot: newest, isNew: false };
  const where = { resourceId: node.id, automatic: false } as const;
  if ((await parts.snapshots.count(where, NAMED_SNAPSHOTS)) >= NAMED_SNAPSHOTS) {
    throw LimitReached({ limit: NAMED_SNAPSHOTS, what: 'snapshots of one resource' });
  }
  // What is kept is what the caller has seen: nobody changes it in between.
  context.work.expect(parts.tree.nodes, node);
  const { name, description } = named;
  return {
    snapshot: await keep(parts, node, { reason: 'manual', automatic: false, name, description }, context),
    isNew: true,
  };
}

/** Whether a snapshot has to stay for now: the newest automatic one does for a day. */
export async function isProtected(parts: Parts, snapshot: SnapshotRecord): Promise<boolean> {
  if (!snapshot.automatic || Date.now() - Date.parse(snapshot.createdAt) >= DAY_MS) return false;
  return (await newestAutomatic(parts.snapshots, snapshot.resourceId))?.id === snapshot.id;
}

/** Snapshots of one node that are looked at together. */
const FORGOTTEN_AT_ONCE = 200;

/** Deletes all snapshots of some nodes. Gives the bytes that this frees. */
export async function forgetAllOf(parts: Parts, ids: readonly string[], work: UnitOfWork): Promise<number> {
  let freed = 0;
  const holders = await parts.snapshots.countBy('resourceId', { resourceId: { in: ids } });
  for (const resourceId of holders.keys()) {
    for (let after: Scalar[] | undefined, more = true; more; ) {
      const limit = FORGOTTEN_AT_ONCE;
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
