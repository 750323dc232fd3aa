import type Router from '@koa/router';
import { mountConnectors } from './connectors.js';
import { mountInvitation } from './invitation.js';
import { mountMcp } from './mcp.js';
import { mountOidc } from './oidc.js';
import type { AuthParts } from './parts.js';
import { mountSession } from './session.js';
import { mountSignIn } from './sign-in.js';
import { mountSignOut } from './sign-out.js';
import { mountSignUp } from './sign-up.js';

/** Serves sign-in, sign-up and browser sessions, as pages that work without scripts and as JSON. */
export function mountAuth(router: Router, parts: AuthParts): void {
  mountSignIn(router, parts);
  mountSignUp(router, parts);
  mountSignOut(router, parts);
  mountSession(router, parts);
  mountInvitation(router, parts);
  mountConnectors(router, parts);
  mountMcp(router, parts);
  mountOidc(router, parts);
}
