import type { Handlers } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { createAuthenticateHandlers } from './authenticate.js';
import { createBootstrapHandlers } from './bootstrap.js';
import type { Parts } from './parts.js';
import { createPeopleHandlers } from './people.js';
import { createReassignHandlers } from './reassign-keys.js';
import { createSessionHandlers } from './sessions.js';
import { createSignUpHandlers } from './sign-up.js';

export function createAuthHandlers(parts: Parts): Handlers<AuthService> {
  return {
    ...createAuthenticateHandlers(parts),
    ...createSignUpHandlers(parts),
    ...createSessionHandlers(parts),
    ...createPeopleHandlers(parts),
    ...createBootstrapHandlers(parts),
    ...createReassignHandlers(parts),
  };
}
