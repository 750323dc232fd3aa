import type { EventBus, Subscription } from '@commonplace/kit/events';
import { derivedId } from '@commonplace/kit/id';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import { consume } from '@commonplace/platform/events';
import type { TemplateParts } from './parts.js';

const FOLLOWED = ['tenancy.workspace.purged', 'tenancy.org.purged'] as const;
const TENANCY = { type: 'system', id: 'tenancy', name: 'tenancy' } as const;
/** Number of templates of an Org that one unit of work deletes. */
const CHUNK = 100;

/**
 * Deletes what purged workspaces contain, and the templates of purged Orgs. Jobs delete the content, and publish it as
 * purged, so that files, index and connections follow.
 */
export function watchPurges(parts: TemplateParts, bus: EventBus): Promise<Subscription> {
  return consume(
    bus,
    { consumer: 'resources.purges', events: FOLLOWED },
    async ({ name, subject, tenant = subject }) => {
      if (name === 'tenancy.org.purged') return purgeTemplates(parts, subject);
      await inWork(parts.store, (work) => queueClearing(parts, work, subject, tenant));
    },
  );
}

async function purgeTemplates(parts: TemplateParts, orgId: string): Promise<void> {
  for (let isLast = false; !isLast; ) {
    isLast = await inWork(parts.store, async (work) => {
      const found = await parts.templates.find({ where: { tenant: orgId }, limit: CHUNK });
      for (const template of found) {
        work.remove(parts.templates, template);
        await queueClearing(parts, work, template.id, orgId);
      }
      return found.length < CHUNK;
    });
  }
}

/** Enqueues the job that deletes everything in a workspace or template, once, however often the event arrives. */
async function queueClearing(parts: TemplateParts, work: UnitOfWork, headId: string, tenant: string): Promise<void> {
  const id = derivedId(`clear ${headId}`);
  if ((await work.get(parts.jobs, id)) !== undefined) return;
  const now = new Date().toISOString();
  work.insert(parts.jobs, {
    ...{ id, tenant, headId, kind: 'clear', workspaceIds: [headId], actor: TENANCY },
    // No node's place depends on this job, so reads ignore it.
    ...{ sweep: true, createdAt: now, leaseUntil: now },
  });
}
