import type Router from '@koa/router';
import type { Context } from 'koa';
import { safeNext } from './next.js';
import { requireCsrf, requireOwnPage } from './origin.js';
import { errorPage } from './pages.js';
import { type AuthParts, callOf } from './parts.js';
import { orPage, seeOther, sendData } from './respond.js';
import { requireSession } from './sessions.js';
import { readSubmission, type Submission, withInvitation } from './submission.js';

/** Serves the acceptance of an invitation by the signed-in person. */
export function mountInvitation(router: Router, parts: AuthParts): void {
  router.post('/auth/accept-invitation', async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return accept(ctx, parts, sent);
    return orPage(ctx, () => accept(ctx, parts, sent), errorPage);
  });
}

async function accept(ctx: Context, parts: AuthParts, sent: Submission): Promise<void> {
  requireOwnPage(ctx, parts.publicOrigin);
  const { cookie, csrfToken } = await requireSession(ctx, parts);
  requireCsrf(ctx, sent.csrf, csrfToken);
  const { body, query } = withInvitation(sent, 'token');
  const invitationToken = parts.messages.invitation(body, query);
  const joined = await parts.auth.acceptInvitation({ session: cookie, invitationToken }, callOf(ctx, parts));
  if (sent.kind === 'json') sendData(ctx, 200, parts.messages.joined(joined));
  else seeOther(ctx, safeNext(sent.next, parts.publicOrigin));
}
