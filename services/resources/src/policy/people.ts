import { taintedWriterOf } from '@commonplace/kit/auth';
import type { CallOptions } from '@commonplace/kit/rpc';
import {
  isWorkspaceRoleAtLeast,
  type MembershipCache,
  type PersonMemberships,
} from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Node } from '../domain/node.js';
import { type Capability, may } from '../domain/role.js';
import type { AccessResolver } from './access.js';
import { belongs } from './gate.js';
import type { Policy } from './port.js';
import type { Subjects } from './subjects.js';

interface PeopleParts {
  readonly memberships: MembershipCache;
  readonly subjects: Subjects;
  readonly access: AccessResolver;
}

type PeoplePolicy = Pick<Policy, 'readersOf' | 'canWrite' | 'untrustedWriter' | 'belongsTo' | 'areReadableBy'>;

/** Answers what people may do who are not the caller of the request, or whose request has ended. */
export function createPeoplePolicy({ memberships, subjects, access }: PeopleParts): PeoplePolicy {
  /** Returns whether a person's memberships pass a test: those in the cache or else, before a refusal, those of now. */
  async function passes(
    userId: string,
    onward: CallOptions,
    test: (person: PersonMemberships) => boolean | Promise<boolean>,
  ): Promise<boolean> {
    return (await test(await memberships.of(userId, onward))) || test(await memberships.fresh(userId, onward));
  }

  const has = (userId: string, node: Node, capability: Capability, onward: CallOptions) =>
    passes(userId, onward, async (person) => {
      const held = await access.accessTo(node, subjects.ofPerson(person, onward));
      return held !== undefined && may(held.role, capability);
    });

  return {
    async readersOf(node, userIds, { onward }) {
      const readers = await Promise.all(userIds.map((id) => has(id, node, 'read', onward)));
      return userIds.filter((_, i) => readers[i]);
    },
    canWrite: (node, userId, { onward }) => has(userId, node, 'write', onward),
    async untrustedWriter(workspaceId, context) {
      const { type } = context.actor;
      if (type === 'system' || type === 'import') return undefined;
      if (taintedWriterOf(context.caller) !== undefined) return 'agent';
      const isTrusted = await passes(context.caller.userId, context.onward, ({ workspaces }) =>
        isWorkspaceRoleAtLeast(workspaces.get(workspaceId)?.role, WorkspaceRole.COMMENTER),
      );
      return isTrusted ? undefined : 'guest';
    },
    belongsTo: (tenant, userId, { onward }) => passes(userId, onward, (own) => belongs(tenant, { own })),
    async areReadableBy(nodes, caller, onward) {
      const subject = await subjects.ofCaller(caller, onward);
      return (await access.accessToAll(nodes, subject)).map((held) => held !== undefined);
    },
  };
}
