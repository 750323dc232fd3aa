import type Router from '@koa/router';
import { mountConnectors } from './connectors.js';
import { mountInvitation } from './invitation.js';
import type { AuthParts } from './parts.js';
import { mountSession } from './session.js';
import { mountSignIn } from './sign-in.js';
import { mountSignOut } from './sign-out.js';
import { mountSignUp } from './sign-up.js';

/** Accounts and browser sessions: pages that need no script, and the same by JSON. */
export function mountAuth(router: Router, parts: AuthParts): void {
  mountSignIn(router, parts);
  mountSignUp(router, parts);
  mountSignOut(router, parts);
  mountSession(router, parts);
  mountInvitation(router, parts);
  mountConnectors(router, parts);
}
