import type { EventBus, Subscription } from '@commonplace/kit/events';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { consume, MEMBER_LEFT } from '../events/index.js';
import type { MembershipCache, PersonMemberships } from '../memberships/index.js';
import type { Departures } from './index.js';

interface SuccessorParts {
  readonly memberships: Pick<MembershipCache, 'fresh'>;
  readonly auth: Pick<Client<AuthService>, 'findUsers'>;
  systemCall(): CallOptions;
}

interface DepartureParts extends SuccessorParts {
  readonly departures: Pick<Departures, 'store'>;
}

/** What a service does when a person has left. An event may arrive twice, so each must be idempotent. */
interface DepartureHandlers {
  leaveWorkspace(userId: string, workspaceId: string): Promise<void>;
  /** `successor` takes over what the person leaves in the Org; it is undefined if nobody does. */
  leaveOrg(userId: string, orgId: string, successor: Successor | undefined): Promise<void>;
}

/** The person who takes over what somebody who has left an Org leaves there. */
export interface Successor {
  readonly id: string;
  readonly name: string;
  readonly workspaces: PersonMemberships['workspaces'];
}

/** Subscribes to people leaving. A departure is stored, and ignored if the person is a member again by then. */
export function watchDepartures(
  bus: EventBus,
  consumer: string,
  parts: DepartureParts,
  handlers: DepartureHandlers,
): Promise<Subscription> {
  return consume(bus, { consumer, events: MEMBER_LEFT }, async (event) => {
    const { userId } = event.data;
    if (userId === '') return;
    await parts.departures.store(event);
    const person = await parts.memberships.fresh(userId, parts.systemCall());
    if (event.name === 'tenancy.workspace_member.removed') {
      const { workspaceId } = event.data;
      if (!person.workspaces.has(workspaceId)) await handlers.leaveWorkspace(userId, workspaceId);
      return;
    }
    const { orgId, transferToUserId } = event.data;
    if (person.orgs.has(orgId)) return;
    await handlers.leaveOrg(userId, orgId, await findSuccessor(parts, orgId, transferToUserId));
  });
}

/** Returns the successor with this id; undefined for an empty id, and unless they belong to the Org. */
export async function findSuccessor(
  { memberships, auth, systemCall }: SuccessorParts,
  orgId: string,
  id: string,
): Promise<Successor | undefined> {
  if (id === '') return undefined;
  const { orgs, workspaces } = await memberships.fresh(id, systemCall());
  if (!orgs.has(orgId)) return undefined;
  const { users } = await auth.findUsers({ ids: [id], emails: [] }, systemCall());
  return { id, name: users[0]?.name ?? '', workspaces };
}
