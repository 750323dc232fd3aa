import type { IndexEntry, SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import { IndexEntry as IndexEntryMessage } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { parseQuery } from '../../domain/query.js';
import type { Hit, IndexAnswer, IndexQuery, SearchIndex } from '../port.js';

export const ORG = 'org-1';
export const WORKSPACE = 'ws-1';

/** An entry; what is not given is plain. */
export function entry(id: string, parts: Partial<IndexEntry> = {}): IndexEntry {
  return IndexEntryMessage.fromPartial({
    id,
    tenant: ORG,
    workspaceId: WORKSPACE,
    boundaryId: parts.workspaceId ?? WORKSPACE,
    type: ResourceType.DOCUMENT,
    name: id,
    metadataJson: '{}',
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    version: 1,
    contentVersion: 1,
    ...parts,
  });
}

/** A filter that admits everything in some workspaces. */
export function everythingIn(...workspaceIds: string[]): SearchFilter {
  return {
    workspaceIds,
    openWorkspaceIds: workspaceIds,
    boundaryIds: [],
    principals: [],
    granted: [],
    tagIds: [],
    tagTerms: [],
  };
}

/** A filter over the workspace that admits what is given. */
export function admitting(parts: Partial<SearchFilter>): SearchFilter {
  return { ...everythingIn(WORKSPACE), openWorkspaceIds: [], ...parts };
}

export type Ask = Partial<Omit<IndexQuery, 'plan'>>;

export interface Bench {
  readonly index: SearchIndex;
  /** Replaces all that the index holds. */
  hold(...entries: IndexEntry[]): Promise<void>;
  ask(query: string, parts?: Ask): Promise<IndexAnswer>;
  /** The ids found, best first. */
  ids(query: string, parts?: Ask): Promise<string[]>;
  /** The one hit. */
  only(query: string, parts?: Ask): Promise<Hit>;
}

export function createBench(index: SearchIndex): Bench {
  let held: string[] = [];
  const ask = (query: string, parts: Ask = {}): Promise<IndexAnswer> =>
    index.search({
      filter: everythingIn(WORKSPACE),
      narrowing: {},
      offset: 0,
      limit: 50,
      highlight: true,
      ...parts,
      plan: parseQuery(query),
    });
  return {
    index,
    async hold(...entries) {
      await index.remove(held);
      held = entries.map(({ id }) => id);
      await index.upsert(entries);
    },
    ask,
    ids: async (query, parts) => (await ask(query, parts)).hits.map(({ id }) => id),
    async only(query, parts) {
      const { hits } = await ask(query, parts);
      const [hit] = hits;
      if (hit === undefined || hits.length > 1) throw new Error(`${hits.length} hits for ${query}`);
      return hit;
    },
  };
}

/** What a snippet marks, as text. */
export function marked(
  snippet: { text: string; ranges: readonly (readonly [number, number])[] } | undefined,
): string[] {
  if (snippet === undefined) return [];
  const points = [...snippet.text];
  return snippet.ranges.map(([start, end]) => points.slice(start, end).join(''));
}

export type Use = () => Bench;
