import { invalidField } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type { Collection, StoredRecord } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { type Implementation, implement } from '@commonplace/platform/runtime';
import type { WorkDirectoryService, WorkEntry } from '@commonplace/proto/automations/v1/work_directory_service.js';
import { type AutomationRecord, automationCollection } from './definitions/records.js';
import type { Shared } from './parts.js';
import { readableWorkspaces } from './policy.js';
import { visibleAmong } from './schedules/access.js';
import { type ScheduleRecord, scheduleCollection } from './schedules/records.js';
import { readableAmong } from './work-items/access.js';
import { type WorkItemRecord, workItemCollection } from './work-items/records.js';

/** Maximum ids of each kind in one request. */
const MAX_IDS = 1_000;

interface DirectoryParts extends Pick<Shared, 'memberships' | 'peers'> {
  readonly items: Collection<WorkItemRecord>;
  readonly automations: Collection<AutomationRecord>;
  readonly schedules: Collection<ScheduleRecord>;
}

/** Opens the service that tells other services the names of what a caller can see. */
export async function openWorkDirectory({ store, memberships, peers }: Shared): Promise<Implementation> {
  const parts: DirectoryParts = {
    ...{ memberships, peers },
    items: await store.collection(workItemCollection),
    automations: await store.collection(automationCollection),
    schedules: await store.collection(scheduleCollection),
  };
  return implement(contracts.workDirectory, createDirectoryHandlers(parts));
}

function createDirectoryHandlers(parts: DirectoryParts): Handlers<WorkDirectoryService> {
  return {
    async lookUpWork({ workItemIds, automationIds, scheduleIds }, context) {
      const [items, automations, schedules] = await Promise.all([
        found(parts.items, workItemIds, 'work_item_ids'),
        found(parts.automations, automationIds, 'automation_ids'),
        found(parts.schedules, scheduleIds, 'schedule_ids'),
      ]);
      const [readable, visible, workspaces] = await Promise.all([
        items.length === 0 ? [] : readableAmong(parts, items, context),
        schedules.length === 0 ? [] : visibleAmong(parts, schedules, context),
        readableWorkspaces(parts, context),
      ]);
      return {
        workItems: readable.map(({ id, title: name }) => ({ id, name })),
        automations: automations.filter(({ workspaceId }) => workspaces.includes(workspaceId)).map(entryOf),
        schedules: visible.map(entryOf),
      };
    },

    async checkAccess({ automationIds }, context) {
      const automations = await found(parts.automations, automationIds, 'automation_ids');
      if (automations.length === 0) return { automations: [] };
      const expected = automations.map(({ workspaceId }) => workspaceId);
      const workspaces = new Set(await readableWorkspaces(parts, context, expected));
      const readable = automations.filter(({ workspaceId }) => workspaces.has(workspaceId));
      return { automations: readable.map(({ id, name, workspaceId }) => ({ id, name, workspaceId })) };
    },

    async countAutomations({ orgId, creatorId }) {
      const counts = await parts.automations.countBy('workspaceId', { tenant: orgId, creatorId });
      return { counts: Object.fromEntries(counts) };
    },
  };
}

async function found<T extends StoredRecord>(
  collection: Collection<T>,
  ids: readonly string[],
  param: string,
): Promise<T[]> {
  if (ids.length > MAX_IDS) throw invalidField(param, 'invalid_value', `${param} may have at most ${MAX_IDS} ids.`);
  return ids.length === 0 ? [] : collection.getMany([...new Set(ids)]);
}

const entryOf = ({ id, name }: WorkEntry): WorkEntry => ({ id, name });
