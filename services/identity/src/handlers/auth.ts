import type { Handlers } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { type AuthenticateParts, createAuthenticateHandlers } from './authenticate.js';
import { type BootstrapParts, createBootstrapHandlers } from './bootstrap.js';
import { createPeopleHandlers, type PeopleLookupParts } from './people.js';
import { createRateLimitHandlers, type RateLimitParts } from './rate-limits.js';
import { createReassignHandlers, type ReassignParts } from './reassign-keys.js';
import { createSessionHandlers, type SessionHandlerParts } from './sessions.js';
import { createSignUpHandlers, type SignUpParts } from './sign-up.js';

type AuthParts = AuthenticateParts &
  SignUpParts &
  SessionHandlerParts &
  PeopleLookupParts &
  BootstrapParts &
  RateLimitParts &
  ReassignParts;

export function createAuthHandlers(parts: AuthParts): Handlers<AuthService> {
  return {
    ...createAuthenticateHandlers(parts),
    ...createSignUpHandlers(parts),
    ...createSessionHandlers(parts),
    ...createPeopleHandlers(parts),
    ...createBootstrapHandlers(parts),
    ...createRateLimitHandlers(parts),
    ...createReassignHandlers(parts),
  };
}
