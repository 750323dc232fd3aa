import type { Handlers } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { apiKeySuspended } from '../events.js';
import { standingKeys } from '../stores/api-keys.js';
import type { Parts } from './parts.js';

/** A person leaves an Org: who takes their keys there. What was done before is not done again. */
export function createReassignHandlers({ apiKeys, now }: Parts): Pick<Handlers<AuthService>, 'reassignKeys'> {
  return {
    async reassignKeys({ orgId, userId, toUserId }, { work }) {
      const keys = await standingKeys(apiKeys, orgId, userId);
      const reassigned = toUserId === '' ? keys.filter(({ state }) => state === 'active') : keys;
      for (const key of reassigned) {
        const after =
          toUserId === '' ? { state: 'suspended' as const } : { state: 'active' as const, actingUserId: toUserId };
        const changed = work.replace(apiKeys, key, { ...key, ...after });
        if (toUserId === '') work.publish(apiKeySuspended(changed, new Date(now()).toISOString()));
      }
      return { reassigned: reassigned.length };
    },
  };
}
