import type Router from '@koa/router';
import type { Context } from 'koa';
import { safeNext } from './next.js';
import { requireOwnPage } from './origin.js';
import { accountPage, signInPage, troublePage } from './pages.js';
import { type AuthParts, callOf } from './parts.js';
import { orPage, seeOther, sendData, sendPage } from './respond.js';
import { beginSession, findSession } from './sessions.js';
import { readSubmission, type Submission } from './submission.js';

export function mountSignIn(router: Router, parts: AuthParts): void {
  router.get('/auth/sign-in', (ctx) =>
    orPage(
      ctx,
      async () => {
        const session = await findSession(ctx, parts);
        const { next = '' } = ctx.query;
        const page = session ? accountPage(session.user, session.csrfToken) : signInPage(String(next));
        sendPage(ctx, 200, page);
      },
      troublePage,
    ),
  );

  router.post('/auth/sign-in', async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return signIn(ctx, parts, sent);
    const again = { values: sent.body };
    return orPage(
      ctx,
      () => signIn(ctx, parts, sent),
      (trouble) => signInPage(sent.next, { ...again, trouble }),
    );
  });
}

async function signIn(ctx: Context, parts: AuthParts, { kind, body, query, next }: Submission): Promise<void> {
  requireOwnPage(ctx, parts.publicOrigin);
  const { email, password } = parts.messages.signIn(body, query);
  const { clientIp } = ctx.state;
  const answer = await parts.auth.signIn({ email, password, clientIp }, callOf(ctx, parts));
  await beginSession(ctx, parts, answer);
  if (kind === 'form') seeOther(ctx, safeNext(next, parts.publicOrigin));
  else sendData(ctx, 200, parts.messages.session(answer));
}
