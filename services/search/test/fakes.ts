import type { CallContext, CallOptions, Client, Reply } from '@commonplace/kit/rpc';
import type {
  AccessibleResource,
  IndexEntry,
  IndexService,
  SearchFilter,
  ShownText,
} from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole } from '@commonplace/proto/resources/v1/resource.js';

/** Imitates the owner of the tree, as far as search calls it. */
export interface FakeResources extends Client<IndexService> {
  readonly entries: Map<string, IndexEntry>;
  /** Ids that the caller may no longer read. */
  readonly refused: Set<string>;
  filter: SearchFilter;
  /** Number of entries that fit into one response. */
  room: number;
  /** Ids of tags by the names that a query may contain. */
  readonly tagNames: Map<string, string[]>;
  /** Texts with placeholders, by the ids of their documents. */
  readonly shown: Map<string, ShownText>;
  readonly calls: { method: string; request: unknown; options: CallOptions }[];
}

export function createFakeResources(filter: SearchFilter): FakeResources {
  const fake: FakeResources = {
    entries: new Map(),
    refused: new Set(),
    filter,
    room: Number.POSITIVE_INFINITY,
    tagNames: new Map(),
    shown: new Map(),
    calls: [],
    async getIndexEntries(request, options) {
      fake.calls.push({ method: 'getIndexEntries', request, options });
      const found = request.ids.flatMap((id) => fake.entries.get(id) ?? []);
      return { entries: found.slice(0, fake.room), leftIds: found.slice(fake.room).map(({ id }) => id) };
    },
    async getIndexStates(request, options) {
      fake.calls.push({ method: 'getIndexStates', request, options });
      const entries = request.ids.flatMap((id) => fake.entries.get(id) ?? []);
      return { entries: entries.map((entry) => ({ ...entry, text: '', tags: [] })), leftIds: [] };
    },
    async *streamIndexStates(request, options) {
      fake.calls.push({ method: 'streamIndexStates', request, options });
      const entries = [...fake.entries.values()].map((entry) => ({ ...entry, text: '', tags: [] }));
      if (entries.length > 0) yield { entries, leftIds: [] };
    },
    async countResources({ workspaceIds }) {
      const counts: Record<string, number> = {};
      for (const { workspaceId } of fake.entries.values()) {
        if (workspaceIds.includes(workspaceId)) counts[workspaceId] = (counts[workspaceId] ?? 0) + 1;
      }
      return { counts };
    },
    async *streamIndexEntries(request, options) {
      fake.calls.push({ method: 'streamIndexEntries', request, options });
      for (const entry of [...fake.entries.values()]) yield { entries: [entry], leftIds: [] };
    },
    async getSearchFilter(request, options) {
      fake.calls.push({ method: 'getSearchFilter', request, options });
      const tagTerms = request.tagTerms.map((term) => ({ ids: fake.tagNames.get(term) ?? [] }));
      return { ...fake.filter, tagIds: request.tagIds, tagTerms };
    },
    async checkAccess(request, options) {
      fake.calls.push({ method: 'checkAccess', request, options });
      const ids = request.ids.filter((id) => fake.entries.has(id) && !fake.refused.has(id));
      return { resources: ids.map((id) => accessible(fake.entries.get(id) as IndexEntry)) };
    },
    async checkReaders() {
      return { resources: [], readers: [] };
    },
    async getShownTexts(request, options) {
      fake.calls.push({ method: 'getShownTexts', request, options });
      return { texts: request.ids.flatMap((id) => fake.shown.get(id) ?? []) };
    },
    async locateTagsAndForms() {
      throw new Error('a search asks for no place of a tag');
    },
    async convertPage() {
      throw new Error('a search converts no page');
    },
    async locatePlaces(request, options) {
      fake.calls.push({ method: 'locatePlaces', request, options });
      return {
        parts: request.places.map(({ resourceId, offset, text }) => {
          const here = fake.entries.get(resourceId)?.text.startsWith(text, offset);
          return {
            blockId: here ? `${resourceId} at ${offset}` : undefined,
            rowId: undefined,
            page: here ? 7 : undefined,
          };
        }),
      };
    },
  };
  return fake;
}

function accessible({ id, workspaceId, type, name, updatedAt, tags }: IndexEntry): AccessibleResource {
  return {
    id,
    workspaceId,
    type,
    name: `${name} now`,
    contentVersion: 1,
    icon: '📄',
    path: [],
    updatedAt,
    tags,
    role: ResourceRole.VIEWER,
    boundaryId: workspaceId,
    isShared: false,
    untrusted: [],
  };
}

export const SYSTEM: CallOptions = { metadata: { requestId: 'req_system' }, deadline: Date.now() + 60_000 };

/** Creates a context with the properties that search uses. */
export function createContext(): CallContext & { readonly reply: Reply } {
  const onward: CallOptions = { metadata: { requestId: 'req_test', token: 'token' }, deadline: Date.now() + 60_000 };
  return { onward, reply: {} } as unknown as CallContext;
}
