import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { foldTag } from '../domain/tags.js';
import type { Node } from './nodes.js';

export interface Tag extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly name: string;
  /** As `foldTag` gives it. */
  readonly nameFold: string;
  /** `<workspace>:<folded name>`: unique while the tag is not being merged away. */
  readonly nameKey?: string;
  readonly color?: string;
  readonly description?: string;
  /** Its nodes are being given that tag instead; until they are, this one stands for it. */
  readonly mergedInto?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly updatedBy: Actor;
}

export const tagCollection: CollectionSpec<Tag> = {
  name: 'tags',
  indexes: [
    { fields: ['nameKey'], unique: true },
    { fields: ['workspaceId', 'nameFold'] },
    { fields: ['nameFold', 'workspaceId'] },
    { fields: ['mergedInto'], sparse: true },
  ],
};

/** Merges that are followed one behind the other. */
const MOST_MERGES = 10;

/**
 * The tags of workspaces. What nodes say of their tags follows a merge or a deletion piece by piece;
 * the records say the truth at once, so nodes' ids are always looked up here.
 */
export interface Tags {
  readonly collection: Collection<Tag>;
  /** Tags by their ids as a client has them: one that was deleted or merged away is none. */
  byId(ids: readonly string[]): Promise<Map<string, Tag>>;
  /** The tag that each id on a node stands for now; those of deleted tags are left out. */
  lookUp(ids: readonly string[]): Promise<Map<string, Tag>>;
  /** The present tags of nodes by the node's id; what a node brought from another workspace is not among them. */
  ofAll(nodes: readonly TaggedNode[]): Promise<Map<string, Tag[]>>;
  of(node: TaggedNode): Promise<Tag[]>;
  /** The tags of a workspace that have these names, by folded name. */
  named(workspaceId: string, names: readonly string[]): Promise<Map<string, Tag>>;
  /** These ids, and those of tags that are being merged into theirs: all that nodes may still carry. */
  carriedFor(ids: readonly string[]): Promise<string[]>;
}

export type TaggedNode = Pick<Node, 'id' | 'workspaceId' | 'tags'>;

export function createTags(collection: Collection<Tag>): Tags {
  async function lookUp(ids: readonly string[]): Promise<Map<string, Tag>> {
    const found = new Map<string, Tag>();
    for (const tag of await collection.getMany([...new Set(ids)])) {
      const now = tag.mergedInto === undefined ? tag : await follow(tag);
      if (now !== undefined) found.set(tag.id, now);
    }
    return found;
  }

  async function follow(merged: Tag): Promise<Tag | undefined> {
    let tag: Tag | undefined = merged;
    for (let hops = 0; tag?.mergedInto !== undefined; hops++) {
      tag = hops === MOST_MERGES ? undefined : await collection.get(tag.mergedInto);
    }
    return tag;
  }

  async function ofAll(nodes: readonly TaggedNode[]): Promise<Map<string, Tag[]>> {
    const tagged = nodes.filter(({ tags }) => tags.length > 0);
    if (tagged.length === 0) return new Map();
    const known = await lookUp(tagged.flatMap(({ tags }) => tags));
    return new Map(tagged.map((node) => [node.id, presentTags(node, known)]));
  }

  return {
    collection,
    async byId(ids) {
      const found = await collection.getMany([...new Set(ids)]);
      return new Map(found.filter(({ mergedInto }) => mergedInto === undefined).map((tag) => [tag.id, tag]));
    },
    lookUp,
    ofAll,
    of: async (node) => (await ofAll([node])).get(node.id) ?? [],
    async named(workspaceId, names) {
      const keys = [...new Set(names.map((name) => nameKey(workspaceId, name)))];
      if (keys.length === 0) return new Map();
      const found = await collection.find({ where: { nameKey: { in: keys } }, limit: keys.length });
      return new Map(found.map((tag) => [tag.nameFold, tag]));
    },
    async carriedFor(ids) {
      const all = new Set(ids);
      let last: readonly string[] = ids;
      for (let hops = 0; last.length > 0 && hops < MOST_MERGES; hops++) {
        const merged = await collection.find({ where: { mergedInto: { in: last } }, limit: MOST_SOURCES });
        last = merged.map(({ id }) => id).filter((id) => !all.has(id));
        for (const id of last) all.add(id);
      }
      return [...all];
    },
  };
}

/** Tags that are looked at which are being merged into others, at one hop. */
const MOST_SOURCES = 1000;

function presentTags({ workspaceId, tags }: TaggedNode, known: ReadonlyMap<string, Tag>): Tag[] {
  const present = tags.flatMap((id) => known.get(id) ?? []).filter((tag) => tag.workspaceId === workspaceId);
  return [...new Map(present.map((tag) => [tag.id, tag])).values()];
}

/** Under which a name is unique. */
export function nameKey(workspaceId: string, name: string): string {
  return `${workspaceId}:${foldTag(name)}`;
}
