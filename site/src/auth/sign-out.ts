import type Router from '@koa/router';
import type { Context } from 'koa';
import { safeNext } from './next.js';
import { requireCsrf, requireOwnPage } from './origin.js';
import { accountPage, errorPage } from './pages.js';
import type { AuthParts } from './parts.js';
import { orPage, seeOther, sendData, sendPage } from './respond.js';
import { endSession, findSession, forgetSession, requireSession } from './sessions.js';
import { readSubmission, type Submission } from './submission.js';

const SIGN_IN = '/auth/sign-in';

export function mountSignOut(router: Router, parts: AuthParts): void {
  router.get('/auth/sign-out', (ctx) =>
    orPage(
      ctx,
      async () => {
        const session = await findSession(ctx, parts);
        if (session === undefined) seeOther(ctx, SIGN_IN);
        else sendPage(ctx, 200, accountPage(session.user, session.csrfToken));
      },
      errorPage,
    ),
  );

  router.post('/auth/sign-out', async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return signOut(ctx, parts, sent);
    return orPage(ctx, () => signOutByPage(ctx, parts, sent), errorPage);
  });
}

async function signOut(ctx: Context, parts: AuthParts, sent: Submission): Promise<void> {
  requireOwnPage(ctx, parts.publicOrigin);
  const { cookie, csrfToken } = await requireSession(ctx, parts);
  requireCsrf(ctx, sent.csrf, csrfToken);
  parts.messages.nothing(sent.body, sent.query);
  await endSession(ctx, parts, cookie);
  forgetSession(ctx, parts);
  if (sent.kind === 'json') sendData(ctx, 200, '{"signed_out":true}');
  else seeOther(ctx, sent.next === '' ? SIGN_IN : safeNext(sent.next, parts.publicOrigin));
}

/** Signs out from a page. Redirects to the sign-in page if there is no session. */
async function signOutByPage(ctx: Context, parts: AuthParts, sent: Submission): Promise<void> {
  if ((await findSession(ctx, parts)) === undefined) seeOther(ctx, SIGN_IN);
  else await signOut(ctx, parts, sent);
}
