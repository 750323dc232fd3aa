import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';

/** A stream that checks its reader's memberships again after a change. */
interface Affected {
  readonly tenants: ReadonlySet<string>;
  readonly userId: string;
  changed(): void;
}

/**
 * Events that may change what people belong to. Settings of a workspace can make all members of the Org its members,
 * and a grant lets a person without membership enter the workspace; so does a group that one is made to.
 */
const TYPES = [
  'commonplace.tenancy.org_member.>',
  'commonplace.tenancy.workspace_member.>',
  'commonplace.tenancy.group.deleted',
  'commonplace.tenancy.group_member.>',
  'commonplace.tenancy.org.deleted',
  'commonplace.tenancy.org.purged',
  'commonplace.tenancy.workspace.updated',
  'commonplace.tenancy.workspace.purged',
  'commonplace.resources.permission.revoked',
];

/** Notifies streams of changes to memberships as soon as the events arrive. */
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
  const { principal } = data;
  if (type.includes('.permission.') && !String(principal).startsWith('group:')) return principal === `user:${userId}`;
  return tenants.has(tenant);
}
