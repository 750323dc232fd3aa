import type {
  ChangePasswordRequest,
  ReauthenticateRequest,
  RequestPasswordResetRequest,
  ResetPasswordRequest,
} from '@commonplace/proto/identity/v1/account_security_service.js';
import type Router from '@koa/router';
import { mountAccountAction, mountOpenAction } from '../auth/action.js';
import { optionsOf } from '../auth/options.js';
import { type AuthParts, callOf } from '../auth/parts.js';
import { sendPage } from '../auth/respond.js';
import { renewSession } from '../auth/sessions.js';
import { forgotPage, passwordSetPage, resetPage, resetSentPage } from './password-pages.js';
import { doneAt, renderAccountErrors } from './view.js';

/** Serves password changes and resets, and the confirmation of one's identity by password. */
export function mountPasswords(router: Router, parts: AuthParts): void {
  const { security, messages } = parts;
  const readChange = messages.reader<ChangePasswordRequest>(
    'ChangePassword',
    'current_password',
    'new_password',
    'code',
  );
  const readProof = messages.reader<ReauthenticateRequest>('Reauthenticate', 'password', 'code');
  const writeChanged = messages.writer('ChangePassword');
  const writeProof = messages.writer('Reauthenticate', 'recent_until');

  mountAccountAction(router, parts, {
    path: '/auth/change-password',
    async run({ ctx, sent, session }) {
      const request = { ...readChange(sent.body, sent.query), session, clientIp: ctx.state.clientIp };
      const changed = await security.changePassword(request, callOf(ctx, parts));
      return { data: writeChanged(changed), next: doneAt('password_changed') };
    },
    renderErrors: renderAccountErrors(parts, 'password'),
  });

  mountAccountAction(router, parts, {
    path: '/auth/reauthenticate',
    async run({ ctx, sent, session }) {
      const request = { ...readProof(sent.body, sent.query), session, clientIp: ctx.state.clientIp };
      const proven = await security.reauthenticate(request, callOf(ctx, parts));
      renewSession(ctx, parts, session, proven);
      return { data: writeProof(proven), next: doneAt('confirmed') };
    },
    renderErrors: renderAccountErrors(parts, 'confirm'),
  });

  mountReset(router, parts);
}

function mountReset(router: Router, parts: AuthParts): void {
  const { security, messages } = parts;
  const readAddress = messages.reader<RequestPasswordResetRequest>('RequestPasswordReset', 'email');
  const readReset = messages.reader<ResetPasswordRequest>('ResetPassword', 'token', 'new_password');
  const writeReset = messages.writer('ResetPassword');

  router.get('/auth/forgot-password', (ctx) => sendPage(ctx, 200, forgotPage()));
  router.get('/auth/reset-password', async (ctx) => {
    const { passwordMinLength } = await optionsOf(ctx, parts);
    sendPage(ctx, 200, resetPage(String(ctx.query.token ?? ''), passwordMinLength));
  });

  mountOpenAction(router, parts, {
    path: '/auth/forgot-password',
    async run({ ctx, sent }) {
      const { email } = readAddress(sent.body, sent.query);
      await security.requestPasswordReset({ email, clientIp: ctx.state.clientIp }, callOf(ctx, parts));
      return { data: '{"requested":true}', page: resetSentPage() };
    },
    renderErrors: async ({ sent, errors }) => forgotPage({ values: sent.body, errors }),
  });

  mountOpenAction(router, parts, {
    path: '/auth/reset-password',
    async run({ ctx, sent }) {
      const request = { ...readReset(sent.body, sent.query), clientIp: ctx.state.clientIp };
      const done = await security.resetPassword(request, callOf(ctx, parts));
      return { data: writeReset(done), page: passwordSetPage() };
    },
    renderErrors: async ({ ctx, sent, errors }) => {
      const { passwordMinLength } = await optionsOf(ctx, parts);
      return resetPage(String(sent.body.token ?? ''), passwordMinLength, { values: {}, errors });
    },
  });
}
