import { NoUpdateField } from '@commonplace/kit/errors';
import { type Handlers, requireVersion } from '@commonplace/kit/rpc';
import type { WorkItemService } from '@commonplace/proto/automations/v1/work_item_service.js';
import { requireRight, seeItem } from './access.js';
import { changeItem } from './change.js';
import { createItem } from './create.js';
import { NamedFields } from './fields.js';
import { listItems } from './list.js';
import type { WorkItemParts } from './parts.js';
import { presentItem, presentItems, presentWith } from './present.js';
import { removeItem } from './remove.js';

export function createWorkItemHandlers(parts: WorkItemParts): Handlers<WorkItemService> {
  return {
    async listWorkItems(request, context) {
      const { items, page } = await listItems(parts, request, context);
      return { items: await presentItems(parts, items, context), page };
    },

    async createWorkItem(request, context) {
      return presentItem(parts, await createItem(parts, request, context), context);
    },

    async getWorkItem({ workItemId, include }, context) {
      const { item } = await seeItem(parts, workItemId, context);
      return presentWith(parts, item, include, context);
    },

    async updateWorkItem(request, context) {
      const { workItemId } = request;
      const seen = await seeItem(parts, workItemId, context, (rights, item) => rights.canChange(item));
      if (new NamedFields(request).isEmpty) throw NoUpdateField();
      requireRight(seen.rights.canChange(seen.item), seen);
      requireVersion(context, seen.item.version, seen.item);
      return presentItem(parts, await changeItem(parts, seen, request, context), context);
    },

    async deleteWorkItem({ workItemId, deleteChildren }, context) {
      const seen = await seeItem(parts, workItemId, context, (rights, item) => rights.canDelete(item));
      requireRight(seen.rights.canDelete(seen.item), seen);
      requireVersion(context, seen.item.version, seen.item);
      await removeItem(parts, seen.item, deleteChildren, context);
      return { id: workItemId, deleted: true };
    },
  };
}
