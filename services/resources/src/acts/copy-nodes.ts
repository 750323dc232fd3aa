import type { CallContext } from '@commonplace/kit/rpc';
import type { PreparedWrite, Renaming } from '../content/kind.js';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import { foldName, type Node, type Place } from '../stores/nodes.js';
import type { Tag } from '../stores/tags.js';
import { copyComments } from './comments.js';
import { copyGrants, type GrantTerms } from './copy-grants.js';
import { tagsOfCopies } from './copy-tags.js';

/** A node, and what its copy is to be. */
export interface Copying {
  readonly from: Node;
  readonly id: string;
  readonly place: Place;
  readonly parentKey: string;
  readonly name: string;
  readonly position: string;
  readonly restricted: boolean;
  /** Its grants come along. */
  readonly granted: boolean;
  readonly attachment: boolean;
}

/** What holds for all of a copy. */
export interface CopyTerms {
  readonly renamed: Renaming;
  readonly withComments: boolean;
  /** Where grants and restrictions come along. */
  readonly grants?: GrantTerms | undefined;
  /** Asks again who may read what, where that was a while ago. */
  readonly readable?: (nodes: readonly Node[]) => Promise<boolean[]>;
  /** Tags that this call makes in the copy's workspace, by folded name. */
  readonly newTags: ReadonlyMap<string, Tag>;
  /** Copies of what stands at the top of this workspace, or template, stand at the top of that one. */
  readonly root?: { readonly from: string; readonly to: Place & { readonly id: string } } | undefined;
  /** The copies are a template: nobody is told of them. */
  readonly template?: boolean | undefined;
  /** Contents stay behind, the columns of tables apart. */
  readonly formOnly?: boolean | undefined;
}

/** Contents that are prepared at once. */
const AT_ONCE = 8;

/** Adds copies to this call's work, with their contents. Gives them in the same order. */
export async function copyNodes(
  parts: Parts,
  copyings: readonly Copying[],
  terms: CopyTerms,
  context: CallContext,
): Promise<Node[]> {
  const now = new Date().toISOString();
  const tags = await tagsOfCopies(parts, copyings, terms.newTags, context);
  const copies: Node[] = [];
  for (let at = 0; at < copyings.length; at += AT_ONCE) {
    const some = copyings
      .slice(at, at + AT_ONCE)
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
      const { grants } = terms;
      const granted = grants !== undefined && one.granted;
      copies.push(granted ? await copyGrants(parts, one.from, copy, grants, context) : copy);
      if (terms.withComments && holder.type === 'document') await copyComments(parts, one.from, holder, context);
    }
  }
  if (terms.template) return copies;
  parts.counters.add(context.work, copies, 1);
  const [first, ...others] = copies;
  if (first !== undefined) publishChange(context, { verb: 'resource.created' }, first, others);
  return copies;
}

async function insert(
  parts: Parts,
  holder: Omit<Node, 'version'>,
  content: PreparedWrite | undefined,
  { work }: CallContext,
): Promise<Node> {
  const node = work.insert(parts.tree.nodes, { ...holder, sizeBytes: content?.sizeBytes ?? 0 });
  if (content === undefined) return node;
  await content.apply();
  // What a kind keeps in the node itself, it has put there now.
  return (await work.get(parts.tree.nodes, node.id)) ?? node;
}

/** The copy of a node: its own facts, at another place, as if the caller had made it. */
function holderOf(
  { from, id, place, parentKey, name, position, restricted, attachment }: Copying,
  tags: Node['tags'],
  { template }: CopyTerms,
  now: string,
  { actor }: CallContext,
): Omit<Node, 'version'> {
  const { tenant, orgId, workspaceId, ancestors, boundary } = place;
  const { type, icon, description, metadata, parented } = from;
  return {
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
    updatedBy: actor,
    createdAt: now,
    updatedAt: now,
  };
}
