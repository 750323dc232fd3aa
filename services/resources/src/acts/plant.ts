import { AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { generateNKeysBetween } from 'fractional-indexing';
import { creationInput, NO_INPUT } from '../content/input.js';
import type { Holder, PreparedWrite } from '../content/kind.js';
import { foldTag } from '../domain/tags.js';
import type { TreeItem } from '../domain/template-tree.js';
import { placeUnder } from '../domain/tree.js';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import { foldName, type Node, type Place } from '../stores/nodes.js';
import { insertSilently, insertTag } from './wanted-tags.js';

/** Where a tree is put that a request or the product itself brings. */
export interface Ground {
  readonly root: Place & { readonly id: string };
  /** The id of the item at a place of the list. */
  idOf(at: number): string;
  /** It is a template: nobody is told. */
  readonly template: boolean;
}

type Home = Place & { readonly id: string };

/** Adds the items of a tree to this call's work, below an empty root. Throws with the faults of all contents. */
export async function plant(
  parts: Parts,
  items: readonly TreeItem[],
  { root, idOf, template }: Ground,
  context: CallContext,
): Promise<Node[]> {
  const tags = tagsFor(parts, items, root, template, context);
  const positions = positionsOf(items);
  const homes: Home[] = [];
  const faults: Fault[] = [];
  const nodes: Node[] = [];
  const ids = new Map(items.flatMap(({ key }, at) => (key === undefined ? [] : [[key, idOf(at)] as const])));
  for (const [at, item] of items.entries()) {
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
      ...(items.some(({ parent }) => parent === at) && item.type !== 'folder' && { parented: true as const }),
      ...(template && { template }),
    };
    const content = await contentOf(parts, item, holder, ids, faults, context);
    if (faults.length > 0) continue;
    const node = context.work.insert(parts.tree.nodes, { ...holder, sizeBytes: content?.sizeBytes ?? 0 });
    await content?.apply();
    nodes.push(node);
  }
  if (faults.length > 0) throw invalidFields(faults);
  if (template) return nodes;
  parts.counters.add(context.work, nodes, 1);
  const [first, ...others] = nodes;
  if (first !== undefined) publishChange(context, { verb: 'resource.created' }, first, others);
  return nodes;
}

function factsOf({ type, name, icon, description, metadata, tags }: TreeItem, ids: TagIds, { actor }: CallContext) {
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
    updatedBy: actor,
    createdAt: now,
    updatedAt: now,
  };
}

type TagIds = ReadonlyMap<string, string>;

/** Makes the tags that a tree names; where it stands there are none yet. */
function tagsFor(
  parts: Parts,
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

/** Order keys among siblings. */
function positionsOf(items: readonly TreeItem[]): string[] {
  const siblings = new Map<number, number[]>();
  for (const [at, { parent = -1 }] of items.entries()) siblings.set(parent, [...(siblings.get(parent) ?? []), at]);
  const positions: string[] = [];
  for (const list of siblings.values()) {
    const keys = generateNKeysBetween(null, null, list.length);
    for (const [i, at] of list.entries()) positions[at] = keys[i] as string;
  }
  return positions;
}

/** The content of an item; its faults are gathered under where it stands in the request. */
async function contentOf(
  parts: Parts,
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
