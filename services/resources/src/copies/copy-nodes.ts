import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { foldName } from '@commonplace/kit/words';
import { copyComments } from '../comments/commands.js';
import type { PreparedWrite, Renaming } from '../content/kind.js';
import type { Copier, GrantTerms } from '../domain/grant.js';
import type { Node, Place } from '../domain/node.js';
import { untrustedAuthors } from '../domain/untrusted.js';
import { publishChange } from '../events.js';
import { copyGrants, keepCopier } from '../sharing/copy-grants.js';
import type { Tag } from '../tags/records.js';
import { trashed } from '../tree/trash.js';
import { tagsOfCopies } from './copy-tags.js';
import type { CopyTarget } from './copy-target.js';
import type { CopyParts } from './parts.js';

/** Options that apply to all nodes of a copy. */
export interface CopyTerms {
  readonly renamed: Renaming;
  readonly withComments: boolean;
  /** Set if grants are copied, and the restriction of the head. */
  readonly grants?: GrantTerms | undefined;
  /** Who manages restricted copies; absent in a template, and in jobs of earlier versions, which have none. */
  readonly copier?: Copier | undefined;
  /** The person for whom the copies are created; absent if they create them themselves. */
  readonly createdForId?: string | undefined;
  /** Checks again what can be read, for a copy whose access was checked some time ago. */
  readonly readable?: (nodes: readonly Node[]) => Promise<boolean[]>;
  /** Tags that this call creates in the target workspace, by folded name. */
  readonly newTags: ReadonlyMap<string, Tag>;
  /** Top-level nodes of the workspace or template `from` are copied to the root `to`. */
  readonly root?: { readonly from: string; readonly to: Place & { readonly id: string } } | undefined;
  /** Whether the copies form a template, which publishes no events. */
  readonly template?: boolean | undefined;
  /** Whether contents are left out, except for the columns of tables. */
  readonly formOnly?: boolean | undefined;
}

/** Number of contents that are prepared concurrently. */
const CONCURRENCY = 8;

/**
 * Adds copies to this call's work, with their contents, and lets other requests run in between. Returns them in the same
 * order.
 */
export async function copyNodes(
  parts: CopyParts,
  targets: readonly CopyTarget[],
  terms: CopyTerms,
  context: CallContext,
): Promise<Node[]> {
  const now = new Date().toISOString();
  const tags = await tagsOfCopies(parts, targets, terms.newTags, context);
  const copies: Node[] = [];
  const breathe = createBreathe(context.signal);
  for (let at = 0; at < targets.length; at += CONCURRENCY) {
    const some = targets
      .slice(at, at + CONCURRENCY)
      .map((one) => ({ one, holder: holderOf(one, tags.get(one.id) ?? [], terms, now, context) }));
    const contents = await Promise.all(
      some.map(({ one: { from }, holder }) => {
        const kind = parts.kinds[from.type];
        if (terms.formOnly) return kind?.copyForm?.(from, holder, context, terms.renamed);
        return kind?.copy(from, holder, context, terms.renamed);
      }),
    );
    for (const [i, { one, holder }] of some.entries()) {
      const copy = await insert(parts, holder, contents[i], context);
      copies.push(await withGrants(parts, one, copy, terms, context));
      if (terms.withComments && holder.type === 'document') await copyComments(parts, one.from, holder, context);
      await breathe();
    }
  }
  if (terms.template) return copies;
  const live = copies.filter(({ state }) => state === 'active');
  parts.counters.add(context.work, live, 1);
  const [first, ...others] = live;
  if (first !== undefined) publishChange(context, { verb: 'resource.created' }, first, others);
  return copies;
}

/** Returns a copy with those grants of its source that are copied, and with its manager if it is restricted. */
async function withGrants(
  parts: CopyParts,
  { from, granted }: CopyTarget,
  copy: Node,
  { grants, copier }: CopyTerms,
  context: CallContext,
): Promise<Node> {
  if (grants !== undefined && granted) return copyGrants(parts, from, copy, grants, copier ?? {}, context);
  return copy.restricted && copier !== undefined ? keepCopier(parts, copy, copier, context) : copy;
}

async function insert(
  parts: CopyParts,
  holder: Omit<Node, 'version'>,
  content: PreparedWrite | undefined,
  { work }: CallContext,
): Promise<Node> {
  const node = work.insert(parts.tree.nodes, { ...holder, sizeBytes: content?.sizeBytes ?? 0 });
  if (content === undefined) return node;
  await content.apply();
  // Read again, because a content kind may have written fields of the node itself.
  return (await work.get(parts.tree.nodes, node.id)) ?? node;
}

/** Returns the copy of a node: its own fields, at another place, as if the caller had created it. */
function holderOf(
  { from, id, place, parentKey, name, position, restricted, attachment, batch }: CopyTarget,
  tags: Node['tags'],
  { template, createdForId }: CopyTerms,
  now: string,
  { actor }: CallContext,
): Omit<Node, 'version'> {
  const { tenant, orgId, workspaceId, ancestors, boundary } = place;
  const { type, icon, description, metadata, parented } = from;
  const untrusted = untrustedAuthors(from, Date.parse(now));
  const holder = {
    tenant,
    orgId,
    workspaceId,
    ancestors,
    boundary,
    id,
    parentKey,
    type,
    name,
    nameFold: foldName(name),
    icon,
    description,
    ...(parented && { parented }),
    ...(attachment && { attachment }),
    ...(template && { template }),
    ...(untrusted.length > 0 && { untrusted }),
    position,
    restricted,
    locked: false,
    state: 'active',
    metadata,
    tags,
    principals: [],
    contentVersion: 1,
    sizeBytes: 0,
    createdBy: actor,
    createdById: actor.id,
    createdForId,
    updatedBy: actor,
    createdAt: now,
    updatedAt: now,
  } as const;
  return batch === undefined ? holder : trashed(holder, batch, false, 0);
}
