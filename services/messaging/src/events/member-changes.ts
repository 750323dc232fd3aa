import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';

/** A stream that looks again at what its person belongs to. */
interface Affected {
  readonly tenants: ReadonlySet<string>;
  readonly userId: string;
  changed(): void;
}

/**
 * Changes by which people join or lose something. A workspace's settings may make all members of its Org members, and who is
 * none enters it by what was shared with them.
 */
const TYPES = [
  'commonplace.tenancy.org_member.>',
  'commonplace.tenancy.workspace_member.>',
  'commonplace.tenancy.org.deleted',
  'commonplace.tenancy.org.purged',
  'commonplace.tenancy.workspace.updated',
  'commonplace.tenancy.workspace.purged',
  'commonplace.resources.permission.revoked',
];

/** Tells streams of changes to memberships as soon as these are announced. */
export class MemberChanges {
  private readonly streams = new Set<Affected>();

  watch(bus: Pick<EventBus, 'watch'>): Promise<Subscription> {
    return bus.watch(TYPES, (event) => {
      for (const stream of this.streams) if (concerns(event, stream)) stream.changed();
    });
  }

  add(stream: Affected): void {
    this.streams.add(stream);
  }

  delete(stream: Affected): void {
    this.streams.delete(stream);
  }
}

function concerns({ type, tenant = '', data }: DomainEvent, { tenants, userId }: Affected): boolean {
  if (type.includes('_member.')) return data.userId === userId;
  if (type.includes('.permission.')) return data.principal === `user:${userId}`;
  return tenants.has(tenant);
}
