import type { StoredLimit } from '@commonplace/kit/limits';
import type { Handlers } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';

export interface RateLimitParts {
  readonly limits: Pick<StoredLimit, 'reserveBatch'>;
}

/** Counts the requests of all gateways together. Identity does, because every gateway calls it anyway. */
export function createRateLimitHandlers({ limits }: RateLimitParts): Pick<Handlers<AuthService>, 'takeRateLimit'> {
  return {
    takeRateLimit({ policy, counter, limit: count, windowMs, wanted, spent }) {
      const rate = { count, windowMs, comesBack: 'together' } as const;
      return limits.reserveBatch({ key: ['gateway', policy, counter], rate }, { wanted, spent });
    },
  };
}
