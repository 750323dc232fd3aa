import { personBehind } from '@commonplace/kit/auth';
import { AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { foldName } from '@commonplace/kit/words';
import { generateNKeysBetween } from 'fractional-indexing';
import { creationInput, NO_INPUT } from '../content/input.js';
import type { Holder, PreparedWrite } from '../content/kind.js';
import type { Node, Place } from '../domain/node.js';
import { placeUnder } from '../domain/tree.js';
import { publishChange } from '../events.js';
import { foldTag } from '../tags/rules.js';
import { insertSilently, insertTag } from '../tags/wanted-tags.js';
import { requireWidth, reservePlaces } from '../tree/reserve.js';
import type { TemplateParts } from './parts.js';
import type { TreeItem } from './template-tree.js';

/** The workspace or template in which `createTree` creates items. */
interface TreeTarget {
  readonly root: Place & { readonly id: string };
  /** Returns the id of the item at an index of the list. */
  idOf(at: number): string;
  /** Whether the tree is a template, which publishes no events. */
  readonly template: boolean;
}

type Home = Place & { readonly id: string };

/**
 * Creates the items of a tree in this call's unit of work, below an empty root, and lets other requests run in between.
 * Throws the faults of all contents at once.
 */
export async function createTree(
  parts: TemplateParts,
  items: readonly TreeItem[],
  { root, idOf, template }: TreeTarget,
  context: CallContext,
): Promise<Node[]> {
  const tags = tagsFor(parts, items, root, template, context);
  const families = familiesOf(items);
  const positions = positionsOf(families);
  const homes: Home[] = [];
  const faults: Fault[] = [];
  const nodes: Node[] = [];
  const parented = new Set(items.map(({ parent }) => parent));
  const ids = new Map(items.flatMap(({ key }, at) => (key === undefined ? [] : [[key, idOf(at)] as const])));
  const breathe = createBreathe(context.signal);
  for (const [at, item] of items.entries()) {
    await breathe();
    const home = item.parent === undefined ? root : (homes[item.parent] as Home);
    const id = idOf(at);
    const place = placeUnder(home, { id, restricted: false });
    homes.push({ ...place, id });
    const holder: Holder = {
      ...place,
      ...factsOf(item, tags, context),
      id,
      parentKey: home.id,
      position: positions[at] as string,
      ...(parented.has(at) && item.type !== 'folder' && { parented: true as const }),
      ...(template && { template }),
    };
    const content = await contentOf(parts, item, holder, ids, faults, context);
    if (faults.length > 0) continue;
    const node = context.work.insert(parts.tree.nodes, { ...holder, sizeBytes: content?.sizeBytes ?? 0 });
    await content?.apply();
    nodes.push(node);
  }
  if (faults.length > 0) throw invalidFields(faults);
  requireWidth(parts, Math.max(...families.map(({ length }) => length)));
  if (template) return nodes;
  const sideBySide = nodes.filter(({ parentKey }) => parentKey === root.id).length;
  await reservePlaces(parts, { parent: root, key: root.id }, context.work, { resources: nodes.length, sideBySide });
  parts.counters.add(context.work, nodes, 1);
  const [first, ...others] = nodes;
  if (first !== undefined) publishChange(context, { verb: 'resource.created' }, first, others);
  return nodes;
}

function factsOf(
  { type, name, icon, description, metadata, tags }: TreeItem,
  ids: TagIds,
  { actor, caller }: CallContext,
) {
  const now = new Date().toISOString();
  return {
    type,
    name,
    nameFold: foldName(name),
    icon,
    description,
    metadata,
    restricted: false,
    locked: false,
    state: 'active' as const,
    tags: [...new Set(tags.map((tag) => ids.get(foldTag(tag)) as string))],
    principals: [],
    contentVersion: 1,
    sizeBytes: 0,
    createdBy: actor,
    createdById: actor.id,
    createdForId: personBehind(actor, caller),
    updatedBy: actor,
    createdAt: now,
    updatedAt: now,
  };
}

type TagIds = ReadonlyMap<string, string>;

/** Creates the tags that a tree names; the root has none yet. Returns their ids by folded name. */
function tagsFor(
  parts: TemplateParts,
  items: readonly TreeItem[],
  root: Home,
  template: boolean,
  context: CallContext,
): TagIds {
  const names = new Map(items.flatMap(({ tags }) => tags).map((name) => [foldTag(name), name]));
  const make = template ? insertSilently : insertTag;
  const none = { color: undefined, description: undefined };
  return new Map([...names].map(([fold, name]) => [fold, make(parts, root, { ...none, name }, context).id]));
}

/** Returns the indexes of the items that share a parent, in their order. */
function familiesOf(items: readonly TreeItem[]): (readonly number[])[] {
  const siblings = new Map<number, number[]>();
  for (const [at, { parent = -1 }] of items.entries()) {
    const same = siblings.get(parent);
    if (same === undefined) siblings.set(parent, [at]);
    else same.push(at);
  }
  return [...siblings.values()];
}

/** Returns the sort key of each item among its siblings. */
function positionsOf(families: readonly (readonly number[])[]): string[] {
  const positions: string[] = [];
  for (const list of families) {
    const keys = generateNKeysBetween(null, null, list.length);
    for (const [i, at] of list.entries()) positions[at] = keys[i] as string;
  }
  return positions;
}

/** Returns the content of an item. Adds faults with the path of the item in the request. */
async function contentOf(
  parts: TemplateParts,
  item: TreeItem,
  holder: Holder,
  ids: ReadonlyMap<string, string>,
  faults: Fault[],
  context: CallContext,
): Promise<PreparedWrite | undefined> {
  const kind = parts.kinds[item.type];
  const content = Buffer.from(
    item.content.toString().replace(/resource:@([a-z0-9-]+)/g, (whole, key: string) => {
      const id = ids.get(key);
      return id === undefined ? whole : `resource:${id}`;
    }),
  );
  try {
    const input = creationInput({ ...item, content }, item.type);
    if (input !== undefined && kind === undefined) {
      faults.push({
        param: `${item.param}.content`,
        code: 'content_not_supported',
        message: 'A folder has no content.',
      });
      return undefined;
    }
    if (input === undefined && item.type !== 'table') return undefined;
    return await kind?.create(holder, input ?? NO_INPUT, context);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'INVALID_ARGUMENT') throw error;
    const { param = 'content', reason: code, message } = error;
    const own = error.faults.length > 0 ? error.faults : [{ param, code, message }];
    faults.push(...own.map((fault) => ({ ...fault, param: `${item.param}.${fault.param}` })));
    return undefined;
  }
}
