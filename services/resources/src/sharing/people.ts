import type { CallContext } from '@commonplace/kit/rpc';
import { foldEmail } from '@commonplace/kit/words';
import type { Node } from '../domain/node.js';
import type { SharingParts } from './parts.js';

interface NamedPerson {
  readonly principalId?: string | undefined;
  readonly email?: string | undefined;
}

/** The people whom grants name. */
export interface People {
  /** Returns the id of a person who belongs to the node's tenant; undefined for all others. */
  inTenant(named: NamedPerson): string | undefined;
}

/** Looks up people by id or address. Ids of other kinds of principals are simply not found. */
export async function findPeople(
  { peers }: SharingParts,
  node: Pick<Node, 'orgId' | 'workspaceId'>,
  named: readonly NamedPerson[],
  context: CallContext,
): Promise<People> {
  const ids = [...new Set(named.flatMap(({ principalId }) => principalId ?? []))];
  const emails = [...new Set(named.flatMap(({ email }) => (email === undefined ? [] : foldEmail(email))))];
  if (ids.length + emails.length === 0) return { inTenant: () => undefined };
  const { users } = await peers.users.findUsers({ ids, emails }, context.onward);
  const members = new Set<string>();
  await Promise.all(
    users.map(async ({ id: userId }) => {
      const { orgs, workspaces } = await peers.directory.getMemberships({ userId }, context.onward);
      const here =
        node.orgId === null
          ? workspaces.some(({ workspaceId }) => workspaceId === node.workspaceId)
          : orgs.some(({ orgId }) => orgId === node.orgId);
      if (here) members.add(userId);
    }),
  );
  return {
    inTenant({ principalId, email }) {
      const user = users.find((one) =>
        email === undefined ? one.id === principalId : foldEmail(one.email) === foldEmail(email),
      );
      return user !== undefined && members.has(user.id) ? user.id : undefined;
    },
  };
}
