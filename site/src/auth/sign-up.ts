import { AppError, defineNotFound } from '@commonplace/kit/errors';
import type { Reply } from '@commonplace/kit/rpc';
import type { InvitationDescription } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { safeNext } from './next.js';
import { optionsOf } from './options.js';
import { requireOwnPage } from './origin.js';
import { accountPage, errorPage, invitationPage, signUpPage } from './pages.js';
import { type AuthParts, callOf, originOf } from './parts.js';
import { orPage, seeOther, sendData, sendPage } from './respond.js';
import { beginSession, findSession } from './sessions.js';
import { readSubmission, type Submission, withInvitation } from './submission.js';

export function mountSignUp(router: Router, parts: AuthParts): void {
  router.get('/auth/sign-up', (ctx) => orPage(ctx, () => showSignUp(ctx, parts), errorPage));

  router.post('/auth/sign-up', async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return signUp(ctx, parts, sent);
    const invitation = String(sent.body.invitation_token ?? '');
    const [about, { passwordMinLength: minLength }] = await Promise.all([
      invitation === '' ? undefined : describe(ctx, parts, invitation).catch(() => undefined),
      optionsOf(ctx, parts),
    ]);
    return orPage(
      ctx,
      () => signUp(ctx, parts, sent),
      (errors) => signUpPage(invitation, { next: sent.next, minLength, about, values: sent.body, errors }),
    );
  });
}

/**
 * Shows the sign-up page, which is also the target of invitation links. Signed-in people get a button to join instead.
 */
async function showSignUp(ctx: Context, parts: AuthParts): Promise<void> {
  const session = await findSession(ctx, parts);
  const invitation = String(ctx.query.invite ?? '');
  const about = invitation === '' ? undefined : await describe(ctx, parts, invitation);
  if (session === undefined) {
    const next = String(ctx.query.next ?? '');
    const { passwordMinLength: minLength } = await optionsOf(ctx, parts);
    sendPage(ctx, 200, signUpPage(invitation, { next, minLength, about }));
  } else if (invitation === '') sendPage(ctx, 200, accountPage(session.user, session.csrfToken));
  else sendPage(ctx, 200, invitationPage(session.user, session.csrfToken, invitation, about));
}

/** Returns the description of an invitation. Throws `expired_link` if its token is unknown or no longer valid. */
async function describe(ctx: Context, parts: AuthParts, token: string): Promise<InvitationDescription> {
  return parts.invitations.describeInvitation({ token }, callOf(ctx, parts)).catch((error: unknown) => {
    throw error instanceof AppError && error.code === 'NOT_FOUND' ? ExpiredInvitation() : error;
  });
}

const ExpiredInvitation = defineNotFound(
  'expired_link',
  'This invitation is unknown, used up, revoked or expired. Ask for a new one.',
);

async function signUp(ctx: Context, parts: AuthParts, sent: Submission): Promise<void> {
  requireOwnPage(ctx, parts.publicOrigin);
  const { body, query } = withInvitation(sent, 'invitation_token');
  const { email, password, name, invitationToken } = parts.messages.signUp(body, query);
  const reply: Reply = {};
  const answer = await parts.auth.signUp(
    { email, password, name, invitationToken, ...originOf(ctx) },
    callOf(ctx, parts, reply),
  );
  await beginSession(ctx, parts, answer);
  const notices = (reply.warnings ?? []).map(({ message }) => message);
  if (sent.kind === 'json') sendData(ctx, 201, parts.messages.session(answer), reply);
  else if (notices.length === 0 || answer.user === undefined) seeOther(ctx, safeNext(sent.next, parts.publicOrigin));
  else sendPage(ctx, 200, accountPage(answer.user, answer.csrfToken, notices));
}
