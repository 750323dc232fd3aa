import type Router from '@koa/router';
import type { AuthParts } from './parts.js';
import { sendData } from './respond.js';
import { requireSession } from './sessions.js';

/** Serves the current session: the signed-in person, and the token that writes have to send as `X-CSRF-Token`. */
export function mountSession(router: Router, parts: AuthParts): void {
  router.get('/auth/session', async (ctx) => {
    const { answer } = await requireSession(ctx, parts);
    sendData(ctx, 200, parts.messages.session(answer));
  });
}
