import { isWorkspaceLimited } from '@commonplace/kit/auth';
import { maxEntries } from '@commonplace/kit/cache';
import type { CallContext, Client, Handlers } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { StorageService, StorageUsage } from '@commonplace/proto/files/v1/storage_service.js';
import type {
  LargeNode,
  SumStorageRequest,
  SumStorageResponse,
  WorkspaceSums,
} from '@commonplace/proto/resources/v1/file_node_service.js';
import type { IndexService } from '@commonplace/proto/resources/v1/index_service.js';
import type { OrgService } from '@commonplace/proto/tenancy/v1/org_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import {
  ListWorkspacesRequest,
  type WorkspaceService,
  WorkspaceStateFilter,
} from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { LRUCache } from 'lru-cache';
import type { StorageParts } from '../parts.js';

interface UsageParts extends Pick<StorageParts, 'settings' | 'versions' | 'nodes' | 'systemCall'> {
  readonly orgs: Client<OrgService>;
  readonly workspaces: Client<WorkspaceService>;
  readonly index: Client<IndexService>;
}

/** Milliseconds that the sums of a workspace are cached. */
const SUMS_TTL_MS = 15 * 60_000;
/** Milliseconds that a caller's largest resources are cached; their access is checked every time. */
const LARGEST_TTL_MS = 60_000;
const DEFAULT_LARGEST_COUNT = 10;
const MAX_LARGEST_COUNT = 100;
/** Workspaces per page that the list of workspaces is read in. */
const PAGE = 200;

interface Sums extends WorkspaceSums {
  /** Bytes of superseded versions. */
  readonly older: number;
  readonly at: string;
}

/** What belongs to a tenant, but to none of its workspaces. */
interface CommonSums extends Pick<SumStorageResponse, 'orgSnapshots' | 'templates'> {
  readonly at: string;
}

type LargestCache = LRUCache<string, LargeNode[]>;

export function createStorageHandlers(parts: UsageParts): Handlers<StorageService> {
  const known = new LRUCache<string, Sums>({ ...maxEntries(10_000), ttl: SUMS_TTL_MS });
  const found: LargestCache = new LRUCache({ max: 1000, ttl: LARGEST_TTL_MS });
  const common = new LRUCache<string, CommonSums>({ ...maxEntries(10_000), ttl: SUMS_TTL_MS });
  return {
    async getStorageUsage({ workspaceId, limit: requested = DEFAULT_LARGEST_COUNT }, context) {
      const limit = Math.min(requested, MAX_LARGEST_COUNT);
      const { ids, owner } = await workspacesOf(parts, workspaceId, context);
      const sums = await sumsOf(parts, known, ids);
      const { orgSnapshots, templates, at } = await commonSumsOf(parts, common, owner);
      const add = (read: (one: Sums) => number) => sums.reduce((total, one) => total + read(one), 0);
      const usage: StorageUsage = {
        usedBytes: add(bytesOf) + orgSnapshots + templates,
        quotaBytes: parts.settings.storageQuotaBytes,
        byKind: {
          files: add((one) => one.files + one.older),
          documents: add((one) => one.documents),
          tables: add((one) => one.tables),
          artifacts: add((one) => one.artifacts),
          snapshots: add((one) => one.snapshots) + orgSnapshots,
          trash: add((one) => one.trash),
          templates,
        },
        byWorkspace: sums.map((one) => ({
          workspaceId: one.workspaceId,
          bytes: bytesOf(one),
          fileCount: one.fileCount,
        })),
        largest: await largestOf(parts, found, ids, limit, context),
        computedAt: [at, ...sums.map((one) => one.at)].sort()[0],
      };
      return usage;
    },
  };
}

function bytesOf({ files, older, documents, tables, artifacts, snapshots, trash }: Sums): number {
  return files + older + documents + tables + artifacts + snapshots + trash;
}

/** Whose storage that belongs to no workspace the caller may see. */
type Owner = Pick<SumStorageRequest, 'orgId' | 'userId'>;
const NOBODY: Owner = { orgId: undefined, userId: undefined };

/**
 * Returns the workspaces that the caller may ask about, the named one or those that they see in their tenant, and the
 * owner of what belongs to the tenant as a whole.
 */
async function workspacesOf(
  parts: UsageParts,
  workspaceId: string | undefined,
  context: CallContext,
): Promise<{ readonly ids: string[]; readonly owner: Owner }> {
  if (workspaceId !== undefined) {
    const { id } = await parts.workspaces.getWorkspace({ workspaceId }, context.onward);
    return { ids: [id], owner: NOBODY };
  }
  const orgId = context.caller.tenant?.orgId ?? undefined;
  const ids: string[] = [];
  const breathe = createBreathe();
  let cursor = '';
  do {
    const page = { limit: PAGE, offset: 0, cursor };
    const request = { page, orgId, personal: orgId === undefined, state: WorkspaceStateFilter.ALL };
    const answer = await parts.workspaces.listWorkspaces(ListWorkspacesRequest.fromPartial(request), context.onward);
    ids.push(...answer.items.map(({ id }) => id));
    cursor = answer.page?.nextCursor ?? '';
    await breathe();
  } while (cursor !== '');
  // A credential that is limited to workspaces does not learn what belongs to the tenant as a whole.
  if (isWorkspaceLimited(context.caller)) return { ids, owner: NOBODY };
  if (orgId === undefined) return { ids, owner: { ...NOBODY, userId: context.caller.userId } };
  const { role } = await parts.orgs.getOrg({ orgId }, context.onward);
  const isAdmin = role === OrgRole.OWNER || role === OrgRole.ADMIN;
  return { ids, owner: isAdmin ? { ...NOBODY, orgId } : NOBODY };
}

/** Returns the stored bytes of an owner's snapshots and templates that belong to no workspace. */
async function commonSumsOf(parts: UsageParts, known: LRUCache<string, CommonSums>, owner: Owner): Promise<CommonSums> {
  const at = new Date().toISOString();
  if (owner === NOBODY) return { orgSnapshots: 0, templates: 0, at };
  const key = owner.orgId ?? `user:${owner.userId}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const { orgSnapshots, templates } = await parts.nodes.sumStorage({ workspaceIds: [], ...owner }, parts.systemCall());
  const sums = { orgSnapshots, templates, at };
  known.set(key, sums);
  return sums;
}

async function sumsOf(parts: UsageParts, known: LRUCache<string, Sums>, ids: readonly string[]): Promise<Sums[]> {
  const missing = ids.filter((id) => !known.has(id));
  if (missing.length > 0) {
    const at = new Date().toISOString();
    const { workspaces } = await parts.nodes.sumStorage({ workspaceIds: missing, ...NOBODY }, parts.systemCall());
    for (const one of workspaces) {
      const where = { workspaceId: one.workspaceId, superseded: true } as const;
      known.set(one.workspaceId, { ...one, older: await parts.versions.sum('sizeBytes', where), at });
    }
  }
  return ids.flatMap((id) => known.get(id) ?? []);
}

/** Returns the largest resources of any kind that the caller may read now. */
async function largestOf(
  parts: UsageParts,
  found: LargestCache,
  ids: readonly string[],
  limit: number,
  context: CallContext,
) {
  const key = [context.caller.userId, limit, ...ids].join(' ');
  // Twice as many as needed, because some may be trashed or become inaccessible while the result is cached.
  const request = { workspaceIds: [...ids], limit: limit * 2 };
  const known = found.get(key);
  const nodes = known ?? (await parts.nodes.findLargest(request, context.onward)).nodes;
  if (known === undefined) found.set(key, nodes);
  if (nodes.length === 0) return [];
  const { resources } = await parts.index.checkAccess({ ids: nodes.map(({ id }) => id) }, context.onward);
  const names = new Map(resources.map(({ id, name }) => [id, name]));
  return nodes
    .flatMap(({ id, bytes }) => {
      const name = names.get(id);
      return name === undefined ? [] : [{ resourceId: id, name, bytes }];
    })
    .slice(0, limit);
}
