import type { Client, Handlers } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { apiKeySuspended } from '../events.js';
import { type ApiKeyRecord, unrevokedKeys } from '../stores/api-keys.js';

export interface ReassignParts {
  readonly apiKeys: Collection<ApiKeyRecord>;
  readonly directory: Client<DirectoryService>;
  readonly now: () => number;
}

/**
 * Creates the handler that transfers or suspends a person's keys when they leave an Org. It can be repeated safely.
 */
export function createReassignHandlers({
  apiKeys,
  directory,
  now,
}: ReassignParts): Pick<Handlers<AuthService>, 'reassignKeys'> {
  return {
    async reassignKeys({ orgId, userId, toUserId }, { work, onward }) {
      const keys = await unrevokedKeys(apiKeys, orgId, userId);
      const reassigned = toUserId === '' ? keys.filter(({ state }) => state === 'active') : keys;
      const suspends = toUserId === '' && reassigned.length > 0;
      const { userIds: admins } = suspends ? await directory.listOrgAdmins({ orgId }, onward) : { userIds: [] };
      for (const key of reassigned) {
        const after =
          toUserId === '' ? { state: 'suspended' as const } : { state: 'active' as const, actingUserId: toUserId };
        const changed = work.replace(apiKeys, key, { ...key, ...after });
        if (suspends) work.publish(apiKeySuspended(changed, new Date(now()).toISOString(), admins));
      }
      return { reassigned: reassigned.length };
    },
  };
}
