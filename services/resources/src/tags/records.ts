import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { foldTag } from './rules.js';

export interface Tag extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly name: string;
  /** The name as `foldTag` returns it. */
  readonly nameFold: string;
  /** `<workspace>:<folded name>`; unique. Absent while the tag is being merged into another. */
  readonly nameKey?: string;
  readonly color?: string;
  readonly description?: string;
  /** Id of the tag that replaces this one on its nodes; until all are rewritten, this id resolves to that tag. */
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

/** Maximum length of a chain of merges that is followed. */
const MAX_MERGE_HOPS = 10;

/**
 * The tags of workspaces. After a merge or a deletion, a job rewrites the tag ids on nodes bit by bit; the tag records
 * are right at once, so ids on nodes are always resolved here.
 */
export interface Tags {
  readonly collection: Collection<Tag>;
  /** Returns tags by the ids that clients send; leaves out deleted and merged tags. */
  byId(ids: readonly string[]): Promise<Map<string, Tag>>;
  /** Resolves ids on nodes to current tags, following merges; leaves out the ids of deleted tags. */
  lookUp(ids: readonly string[]): Promise<Map<string, Tag>>;
  /** Returns the current tags of nodes by node id, without tags of another workspace that a node was moved from. */
  ofAll(nodes: readonly TaggedNode[]): Promise<Map<string, Tag[]>>;
  of(node: TaggedNode): Promise<Tag[]>;
  /** Returns the tags of a workspace with the given names, by folded name. */
  named(workspaceId: string, names: readonly string[]): Promise<Map<string, Tag>>;
  /** Returns the given ids and the ids of tags being merged into them, that is, every id that nodes may still carry. */
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
      tag = hops === MAX_MERGE_HOPS ? undefined : await collection.get(tag.mergedInto);
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
      for (let hops = 0; last.length > 0 && hops < MAX_MERGE_HOPS; hops++) {
        const merged = await collection.find({ where: { mergedInto: { in: last } }, limit: MAX_MERGED_TAGS });
        last = merged.map(({ id }) => id).filter((id) => !all.has(id));
        for (const id of last) all.add(id);
      }
      return [...all];
    },
  };
}

/** Maximum number of tags merged into others that one step of a chain reads. */
const MAX_MERGED_TAGS = 1000;

function presentTags({ workspaceId, tags }: TaggedNode, known: ReadonlyMap<string, Tag>): Tag[] {
  const present = tags.flatMap((id) => known.get(id) ?? []).filter((tag) => tag.workspaceId === workspaceId);
  return [...new Map(present.map((tag) => [tag.id, tag])).values()];
}

/** Returns the key under which a tag name is unique. */
export function nameKey(workspaceId: string, name: string): string {
  return `${workspaceId}:${foldTag(name)}`;
}
