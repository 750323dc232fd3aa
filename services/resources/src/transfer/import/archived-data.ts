import { AppError } from '@commonplace/kit/errors';
import { derivedId, newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import { MAX_AUTOMATIC_SNAPSHOTS, MAX_NAMED_SNAPSHOTS } from '../../config.js';
import type { ContentInput, ContentKind, KeptContent } from '../../content/kind.js';
import type { GrantTerm } from '../../domain/grant.js';
import type { Node } from '../../domain/node.js';
import { isAtLeast, ROLES, type Role } from '../../domain/role.js';
import { tryToReserve } from '../../nodes/quotas.js';
import { requireCapability, requireWritable } from '../../policy.js';
import { MAX_GRANTS_PER_NODE, mergeTerms, putGrants, type RequestedGrant } from '../../sharing/grants.js';
import type { SnapshotReason } from '../../snapshots/records.js';
import type { TransferParts } from '../parts.js';
import { type ArchiveJson, momentIn, recordIn, recordsIn, textIn } from './archive-json.js';
import { type ArchivedItem, archivedIn, keptInput } from './archived.js';
import { putComments } from './archived-comments.js';
import { putForm } from './form.js';
import type { ItemTerms } from './item-terms.js';
import { past } from './new-node.js';

/** Restores the data of a resource other than its content: block ids, comments, snapshots, permissions and the form. */
export async function putArchived(
  parts: TransferParts,
  node: Node,
  archived: ArchivedItem,
  terms: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<Node> {
  if (node.type === 'document') {
    const { block_ids: ids } = archived.content;
    if (Array.isArray(ids)) await parts.kinds.document.takeIds(node, ids.map(String), context);
    await putComments(parts, node, archived, terms, context);
  }
  await putSnapshots(parts, node, archived, terms, warnings, context);
  const { permissions, form } = archived;
  const granted = permissions.length > 0 ? await putPermissions(parts, node, archived, terms, warnings, context) : node;
  return form === undefined || node.type !== 'table'
    ? granted
    : putForm(parts, granted, form, terms, warnings, context);
}

const DAY_MS = 24 * 60 * 60 * 1000;
const REASONS: readonly string[] = ['manual', 'auto', 'before_replace', 'before_restore', 'import', 'agent_run'];

/** Restores snapshots of a resource that this import has created; does nothing for any other resource. */
export async function keepStates(
  parts: TransferParts,
  item: ImportItem,
  present: Node,
  terms: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<'present'> {
  const archived = await archivedIn(item);
  if (archived === undefined || present.state === 'trashed' || present.importId !== terms.importId) return 'present';
  const seen = await parts.policy.see(present.id, terms.subject);
  requireCapability(seen, 'write');
  requireWritable(seen, true);
  await putSnapshots(parts, present, archived, terms, warnings, context);
  return 'present';
}

/**
 * Restores snapshots, manual ones up to the limit of a resource, and automatic ones for no longer than others are kept;
 * skips those that an earlier attempt has stored.
 */
async function putSnapshots(
  parts: TransferParts,
  node: Node,
  { snapshots, renamed }: Pick<ArchivedItem, 'snapshots' | 'renamed'>,
  terms: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<void> {
  const kind = parts.kinds[node.type];
  const now = new Date().toISOString();
  const keptUntil = new Date(Date.now() + parts.settings.snapshotDays * DAY_MS).toISOString();
  let left = 0;
  for (const given of snapshots.slice(-(MAX_NAMED_SNAPSHOTS + MAX_AUTOMATIC_SNAPSHOTS))) {
    const id = derivedId(`archived:${node.id}:${textIn(given.id) ?? newId()}`);
    if ((await context.work.get(parts.snapshots, id)) !== undefined) continue;
    const reason = (REASONS.includes(given.reason as string) ? given.reason : 'import') as SnapshotReason;
    if (reason === 'manual' && !(await tryToReserve(parts.quotas.snapshots, context.work, node.id))) {
      left++;
      continue;
    }
    const version = Number(given.content_version);
    const isPast = version >= 1 && version <= node.contentVersion;
    const input = isPast ? await keptInput(parts, recordIn(given.content), node.type, renamed, terms) : undefined;
    const kept = input && (await keptUnlessRefused(kind, node, id, input, context));
    if (kept === undefined) {
      warnings.push('A snapshot was left out: it cannot be read.');
      continue;
    }
    const { sizeBytes, hash } = kept;
    const [written, maker] = await terms.people.actors([recordIn(given.written_by), recordIn(given.created_by)]);
    const expiresAt = momentIn(given.expires_at) ?? now;
    context.work.insert(parts.snapshots, {
      id,
      tenant: node.tenant,
      resourceId: node.id,
      type: node.type,
      name: textIn(given.name)?.slice(0, 255),
      description: textIn(given.description)?.slice(0, 2000),
      reason,
      automatic: reason !== 'manual',
      contentVersion: version,
      sizeBytes,
      hash,
      written: { by: written?.actor ?? context.actor, at: past(momentIn(given.written_at), now) },
      createdBy: maker?.actor ?? context.actor,
      createdAt: past(momentIn(given.created_at), now),
      ...(reason !== 'manual' && { expiresAt: past(expiresAt, keptUntil) }),
    });
  }
  if (left > 0)
    warnings.push(`${left} snapshots were left out: a resource has at most ${MAX_NAMED_SNAPSHOTS} manual ones.`);
}

/** Stores a snapshot's content; returns undefined if it is not valid for a resource of this kind. */
async function keptUnlessRefused(
  kind: ContentKind | undefined,
  node: Node,
  id: string,
  input: ContentInput,
  context: CallContext,
): Promise<KeptContent | undefined> {
  try {
    return await kind?.keepInput?.(node, id, input, context);
  } catch (error) {
    if (error instanceof AppError && REFUSED.has(error.code)) return undefined;
    throw error;
  }
}

const REFUSED: ReadonlySet<AppError['code']> = new Set(['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'ALREADY_EXISTS']);

/** Restores the grants to principals that are known here. Only administrators may, and only up to their own role. */
async function putPermissions(
  parts: TransferParts,
  node: Node,
  { permissions }: ArchivedItem,
  { administers, people, subject }: ItemTerms,
  warnings: string[],
  context: CallContext,
): Promise<Node> {
  if (!administers) {
    warnings.push('Its permissions were left out: only administrators of the workspace can import them.');
    return node;
  }
  const own = (await parts.policy.accessTo(node, subject))?.role ?? 'manager';
  const now = new Date().toISOString();
  const ids = await people.ids(permissions.map(({ principal }) => recordIn(principal)));
  const requestedGrants = new Map<string, RequestedGrant>();
  let left = 0;
  for (const [i, given] of permissions.entries()) {
    const { type } = recordIn(given.principal);
    const id = ids[i];
    const principal =
      type === 'user' && id !== undefined
        ? `user:${id}`
        : type === 'org' && node.orgId !== null
          ? `org:${node.orgId}`
          : undefined;
    const terms = termsIn(given, now);
    // The importer keeps the manager grant on a restricted node.
    if (principal === `user:${subject.caller.userId}` && node.restricted) continue;
    if (principal === undefined || terms.length === 0 || !terms.every(({ role }) => isAtLeast(own, role))) left++;
    else requestedGrants.set(principal, { principal, ...mergeTerms(terms) });
  }
  if (left > 0)
    warnings.push(`${left} permissions were left out: of people unknown here, links, agents, groups and workspaces.`);
  const some = [...requestedGrants.values()].slice(0, MAX_GRANTS_PER_NODE - 1);
  return some.length === 0 ? node : (await putGrants(parts, node, some, { notify: false }, context)).node;
}

/** Returns the terms of an archived grant that have not expired at a time (RFC 3339), and whose role is known. */
function termsIn(given: ArchiveJson, now: string): GrantTerm[] {
  return [given, ...recordsIn(given.later)].flatMap((term) => {
    const role = ROLES.find((one) => one === term.role) as Role | undefined;
    const expiresAt = momentIn(term.expires_at);
    return role === undefined || (expiresAt !== undefined && expiresAt <= now) ? [] : [{ role, expiresAt }];
  });
}
