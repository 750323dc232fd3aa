import type { Actor } from '@commonplace/kit/auth';
import type { EventBus, Subscription } from '@commonplace/kit/events';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import { recordActivity } from './activity.js';
import type { WorkItemParts } from './parts.js';

/** Maximum number of runs kept for a work item; the oldest are removed. */
export const MAX_LINKS = 50;

type LinkParts = Pick<WorkItemParts, 'items' | 'links' | 'activities' | 'now'>;

/** A run for a work item. */
interface LinkedRun {
  readonly runId: string;
  readonly itemId: string;
  readonly agentId: string;
  readonly initiatorId: string;
  /** The actor of the recorded activity. */
  readonly actor: Actor;
}

/** Links a run to its work item in a unit of work, unless it is linked already. */
export async function linkRun(parts: LinkParts, run: LinkedRun, work: UnitOfWork): Promise<void> {
  const { runId, itemId, agentId, initiatorId, actor } = run;
  const item = await work.get(parts.items, itemId);
  if (item === undefined || (await work.get(parts.links, runId)) !== undefined) return;
  const { tenant, workspaceId } = item;
  const at = new Date(parts.now()).toISOString();
  // Makes the commit fail if the work item is deleted at the same time, so that no link is left behind.
  work.expect(parts.items, item);
  work.insert(parts.links, { id: runId, tenant, workspaceId, itemId, agentId, initiatorId, createdAt: at });
  recordActivity(parts, item, { type: 'run_started', actor, runId }, at, work);
  const where = { itemId };
  const old = await parts.links.find({ where, sort: ['-createdAt'], offset: MAX_LINKS - 1, limit: MAX_LINKS });
  for (const one of old) work.remove(parts.links, one);
}

/** Subscribes to agent runs: links those started for a work item, and records the end of linked runs. */
export function followRuns(parts: LinkParts & Pick<WorkItemParts, 'store'>, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'automations.work_item_runs', events: FOLLOWED }, (event) =>
    inWork(parts.store, (work) => follow(parts, event, work)),
  );
}

const FOLLOWED = ['agents.agent_run.started', 'agents.agent_run.finished'] as const;

async function follow(parts: LinkParts, event: TypedEvent<(typeof FOLLOWED)[number]>, work: UnitOfWork): Promise<void> {
  const { subject: runId, tenant, actor = SYSTEM } = event;
  const { workItemId, workspaceId, agentId, userId } = event.data;
  const doer = { type: actor.type as Actor['type'], id: actor.id, name: actor.name };
  const known = await work.get(parts.links, runId);
  if (known === undefined) {
    const item = workItemId === '' ? undefined : await work.get(parts.items, workItemId);
    // The id of the work item comes from whoever started the run, so tenant and workspace are checked.
    if (item === undefined || item.tenant !== tenant || item.workspaceId !== workspaceId) return;
    await linkRun(parts, { runId, itemId: item.id, agentId, initiatorId: userId, actor: doer }, work);
  }
  if (event.name !== 'agents.agent_run.finished') return;
  const link = await work.get(parts.links, runId);
  const item = link && (await work.get(parts.items, link.itemId));
  if (link === undefined || item === undefined || link.finishedAt !== undefined) return;
  const at = new Date(parts.now()).toISOString();
  work.expect(parts.items, item);
  work.replace(parts.links, link, { ...link, finishedAt: at });
  recordActivity(parts, item, { type: 'run_finished', actor: doer, runId, reason: event.data.status }, at, work);
}

const SYSTEM = { type: 'system', id: 'agents', name: 'Agents' };
