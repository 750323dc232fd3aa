import type { Actor } from '@commonplace/kit/auth';
import { createEvent } from '@commonplace/kit/events';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Node } from './domain/node.js';
import type { RowChange } from './domain/row-change.js';

/**
 * Returns the context with which a background job writes and publishes events. Records and events name the actor who
 * started the job.
 */
export function eventsBy(
  actor: Actor,
  owner: string | undefined,
  work: UnitOfWork,
): Pick<CallContext, 'work' | 'event' | 'actor'> {
  return {
    work,
    actor,
    event: (type, subject, data, tenant = owner) =>
      createEvent({ service: 'resources', type, subject, data, tenant, actor }),
  };
}

/** Number of changed columns above which an event lists fewer rows, so that its size stays bounded. */
const MANY_COLUMNS = 100;
const FEW_ROWS = 50;

/** Publishes the rows of a table that a write has changed, in events of at most `MAX_IDS_PER_EVENT` rows. */
export function publishRows(
  context: Pick<CallContext, 'work' | 'event'>,
  changes: readonly RowChange[],
  { id, workspaceId, tenant, version, contentVersion }: Node,
  formId?: string,
): void {
  for (const { verb, rowIds, columnIds } of changes) {
    const maxRows = columnIds.length > MANY_COLUMNS ? FEW_ROWS : MAX_IDS_PER_EVENT;
    for (let from = 0; from < rowIds.length; from += maxRows) {
      const about = { resourceId: id, tableId: id, workspaceId, version, contentVersion };
      const rows = { rowIds: rowIds.slice(from, from + maxRows), changedFields: [...columnIds] };
      const data = { ...about, ...rows, ...(formId !== undefined && { formId }) };
      context.work.publish(context.event(verb, id, data, tenant));
    }
  }
}

/** Maximum number of ids in one event, which keeps events small. */
const MAX_IDS_PER_EVENT = 200;

export interface Change {
  readonly verb:
    | 'resource.created'
    | 'resource.updated'
    | 'resource.moved'
    | 'resource.trashed'
    | 'resource.restored'
    | 'resource.purged'
    | 'content.updated';
  readonly fields?: readonly string[];
  /** How the content was changed; for `content.updated` only. */
  readonly reason?: string;
}

/**
 * Publishes a change to a node and to the descendants that changed with it, in events of up to `MAX_IDS_PER_EVENT` ids.
 */
export function publishChange(
  context: Pick<CallContext, 'work' | 'event'>,
  { verb, fields = [], reason }: Change,
  head: Pick<Node, 'id' | 'workspaceId' | 'tenant' | 'version' | 'contentVersion'>,
  below: readonly { readonly id: string }[] = [],
): void {
  const ids = [head.id, ...below.map(({ id }) => id)];
  for (let from = 0; from < ids.length; from += MAX_IDS_PER_EVENT) {
    const data = {
      resourceIds: ids.slice(from, from + MAX_IDS_PER_EVENT),
      workspaceId: head.workspaceId,
      changedFields: [...fields],
      version: head.version,
      contentVersion: head.contentVersion,
      ...(reason === undefined ? {} : { reason }),
    };
    context.work.publish(context.event(verb, head.id, data, head.tenant));
  }
}
