import { createQuota, quotaCollection } from '@commonplace/kit/quota';
import type { Collection, Store } from '@commonplace/kit/store';
import type { Comment } from './comments/records.js';
import { MAX_COMMENTS_PER_DOCUMENT } from './comments/rules.js';
import { MAX_NAMED_SNAPSHOTS, type Settings } from './config.js';
import type { Node } from './domain/node.js';
import { LimitReached, tooManyRequests } from './errors.js';
import type { Counters } from './nodes/counters.js';
import { allJobs, type TreeJob } from './nodes/jobs.js';
import type { Quotas } from './nodes/quotas.js';
import type { AccessRequest } from './sharing/request-records.js';
import type { SnapshotRecord } from './snapshots/records.js';
import type { Tag } from './tags/records.js';
import { MAX_TAGS_PER_WORKSPACE } from './tags/rules.js';
import { MAX_TEMPLATES_PER_LIST, type Template } from './templates/records.js';

/** The stores that the quotas count. */
interface CountedRecords {
  readonly nodes: Collection<Node>;
  readonly counters: Counters;
  readonly jobs: Collection<TreeJob>;
  readonly tags: Collection<Tag>;
  readonly comments: Collection<Comment>;
  readonly templates: Collection<Template>;
  readonly snapshots: Collection<SnapshotRecord>;
  readonly accessRequests: Collection<AccessRequest>;
}

/**
 * Number of slots of the quotas that are reserved most often. It equals the counters' number of slots, so that
 * creations do not contend more on the quota than on the counters.
 */
const SLOTS = 8;
export async function openQuotas(store: Store, settings: Settings, counted: CountedRecords): Promise<Quotas> {
  const records = await store.collection(quotaCollection);
  const refuse = (what: string) => (limit: number) => LimitReached({ limit, what });
  const open = (name: string, limit: number, what: string, count: (key: string) => Promise<number>, slots = 1) =>
    createQuota(records, { name, limit, slots, count, refuse: refuse(what) });
  const children = (parentKey: string) => counted.nodes.count({ parentKey, state: 'active' });
  const sideBySide = 'resources side by side';
  return {
    resources: open(
      'resources',
      settings.workspaceResources,
      'resources in a workspace',
      (workspaceId) => countResources(counted, workspaceId),
      SLOTS,
    ),
    roots: open('roots', settings.children, sideBySide, children, SLOTS),
    children: open('children', settings.children, sideBySide, children),
    tags: open('tags', MAX_TAGS_PER_WORKSPACE, 'tags in a workspace', (workspaceId) =>
      counted.tags.count({ workspaceId }),
    ),
    comments: open('comments', MAX_COMMENTS_PER_DOCUMENT, 'comments on a document', (resourceId) =>
      counted.comments.count({ resourceId }),
    ),
    templates: open('templates', MAX_TEMPLATES_PER_LIST, 'templates', (listKey) =>
      counted.templates.count({ listKey }),
    ),
    snapshots: open('snapshots', MAX_NAMED_SNAPSHOTS, 'snapshots of one resource', (resourceId) =>
      counted.snapshots.count({ resourceId, automatic: false }),
    ),
    accessRequests: createQuota(records, {
      name: 'access_requests',
      limit: settings.accessRequestsPerHour,
      count: (requesterId) => counted.accessRequests.count({ requesterId, createdAt: { gt: anHourAgo() } }),
      // `requestAccess` has already refused sequential requests with the exact time; this bounds concurrent ones.
      refuse: (limit) => tooManyRequests(limit, 60),
    }),
  };
}

/**
 * Returns the number of live resources in a workspace plus those that jobs are about to create there. Reads the jobs
 * first, so that a resource is never missed between the two counts.
 */
async function countResources({ jobs, counters }: CountedRecords, workspaceId: string): Promise<number> {
  const running = await allJobs(jobs, { reserved: { exists: true } });
  const coming = running.filter(({ reserved }) => reserved?.workspaceId === workspaceId);
  return coming.reduce(
    (sum, { reserved }) => sum + (reserved?.resources ?? 0),
    await counters.ofWorkspace(workspaceId),
  );
}

const HOUR_MS = 3_600_000;
const anHourAgo = (): string => new Date(Date.now() - HOUR_MS).toISOString();
