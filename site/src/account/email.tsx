import type { VerifyEmailRequest } from '@commonplace/proto/identity/v1/account_security_service.js';
import type Router from '@koa/router';
import { ACCOUNT, mountAccountAction, mountOpenAction } from '../auth/action.js';
import { formPage } from '../auth/form.js';
import type { Again } from '../auth/pages.js';
import { type AuthParts, callOf } from '../auth/parts.js';
import { sendPage } from '../auth/respond.js';
import { sitePage } from '../page/site.js';
import { doneAt, renderAccountErrors } from './view.js';

/** Serves the verification of an account's e-mail address. */
export function mountEmail(router: Router, parts: AuthParts): void {
  const { security, messages } = parts;
  const read = messages.reader<VerifyEmailRequest>('VerifyEmail', 'token');
  const writeSent = messages.writer('RequestEmailVerification');
  const writeVerified = messages.writer('VerifyEmail');

  mountAccountAction(router, parts, {
    path: '/auth/verify-email/send',
    async run({ ctx, sent, session }) {
      messages.nothing(sent.body, sent.query);
      const { clientIp } = ctx.state;
      const answer = await security.requestEmailVerification({ session, clientIp }, callOf(ctx, parts));
      return { data: writeSent(answer), next: doneAt('verification_sent') };
    },
    renderErrors: renderAccountErrors(parts),
  });

  // The link shows a button, so that programs that open links by themselves, such as e-mail scanners, do not use up the
  // token.
  router.get('/auth/verify-email', (ctx) => sendPage(ctx, 200, verifyPage(String(ctx.query.token ?? ''))));
  mountOpenAction(router, parts, {
    path: '/auth/verify-email',
    async run({ ctx, sent }) {
      const { token } = read(sent.body, sent.query);
      const verified = await security.verifyEmail({ token, clientIp: ctx.state.clientIp }, callOf(ctx, parts));
      return { data: writeVerified(verified), page: verifiedPage(verified.email, verified.invitationsJoined) };
    },
    renderErrors: async ({ sent, errors }) => verifyPage(String(sent.body.token ?? ''), { values: {}, errors }),
  });
}

function verifyPage(token: string, again?: Again): string {
  return formPage({
    title: 'Confirm your e-mail address',
    action: '/auth/verify-email',
    submit: 'Confirm the address',
    hidden: { token },
    ...again,
  });
}

function verifiedPage(email: string, joined: number): string {
  return sitePage({
    title: 'Address confirmed',
    width: 'form',
    children: (
      <>
        <h1>Thank you</h1>
        <p role="status">
          The address <strong>{email}</strong> is confirmed.
          {joined > 0 && ` ${joined} ${joined === 1 ? 'invitation was' : 'invitations were'} accepted.`}
        </p>
        <p>
          <a href={ACCOUNT}>Go to your account</a>
        </p>
      </>
    ),
  });
}
