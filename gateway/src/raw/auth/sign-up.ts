import type { Reply } from '@commonplace/kit/rpc';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { safeNext } from './next.js';
import { requireOwnPage } from './origin.js';
import { accountPage, invitationPage, signUpPage, troublePage } from './pages.js';
import { type AuthParts, callOf } from './parts.js';
import { orPage, seeOther, sendData, sendPage } from './respond.js';
import { beginSession, findSession } from './sessions.js';
import { readSubmission, type Submission, withInvitation } from './submission.js';

export function mountSignUp(router: Router, parts: AuthParts): void {
  router.get('/auth/sign-up', (ctx) => orPage(ctx, () => showSignUp(ctx, parts), troublePage));

  router.post('/auth/sign-up', async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return signUp(ctx, parts, sent);
    const invitation = String(sent.body.invitation_token ?? '');
    return orPage(
      ctx,
      () => signUp(ctx, parts, sent),
      (trouble) => signUpPage(invitation, { values: sent.body, trouble }),
    );
  });
}

/** An invitation's link leads here: who has an account and is signed in joins by a press of a button. */
async function showSignUp(ctx: Context, parts: AuthParts): Promise<void> {
  const session = await findSession(ctx, parts);
  const invitation = String(ctx.query.invite ?? '');
  if (session === undefined) sendPage(ctx, 200, signUpPage(invitation));
  else if (invitation === '') sendPage(ctx, 200, accountPage(session.user, session.csrfToken));
  else sendPage(ctx, 200, invitationPage(session.user, session.csrfToken, invitation));
}

async function signUp(ctx: Context, parts: AuthParts, sent: Submission): Promise<void> {
  requireOwnPage(ctx, parts.publicOrigin);
  const { body, query } = withInvitation(sent, 'invitation_token');
  const { email, password, name, invitationToken } = parts.messages.signUp(body, query);
  const { clientIp } = ctx.state;
  const reply: Reply = {};
  const answer = await parts.auth.signUp(
    { email, password, name, invitationToken, clientIp },
    callOf(ctx, parts, reply),
  );
  await beginSession(ctx, parts, answer);
  const notices = (reply.warnings ?? []).map(({ message }) => message);
  if (sent.kind === 'json') sendData(ctx, 201, parts.messages.session(answer), reply);
  else if (notices.length === 0 || answer.user === undefined) seeOther(ctx, safeNext(sent.next, parts.publicOrigin));
  else sendPage(ctx, 200, accountPage(answer.user, answer.csrfToken, notices));
}
