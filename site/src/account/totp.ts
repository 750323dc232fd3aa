import type { ConfirmTotpRequest, RecoveryCodes } from '@commonplace/proto/identity/v1/account_security_service.js';
import type Router from '@koa/router';
import { renderSVG } from 'uqr';
import { mountAccountAction } from '../auth/action.js';
import { type AuthParts, callOf } from '../auth/parts.js';
import { requireSession } from '../auth/sessions.js';
import { accountPage } from './page.js';
import { recoveryCodesPage, totpPage } from './totp-pages.js';
import { doneAt, loadAccount, renderAccountErrors } from './view.js';

/** Serves the authenticator app of an account and its recovery codes. */
export function mountTotp(router: Router, parts: AuthParts): void {
  const { security, messages } = parts;
  const readCode = messages.reader<ConfirmTotpRequest>('ConfirmTotp', 'code');
  const writeBegun = messages.writer('BeginTotp');
  const writeCodes = messages.writer('ConfirmTotp');
  const shown = (codes: RecoveryCodes) => ({ data: writeCodes(codes), page: recoveryCodesPage(codes.recoveryCodes) });

  mountAccountAction(router, parts, {
    path: '/auth/totp/begin',
    async run({ ctx, sent, session }) {
      messages.nothing(sent.body, sent.query);
      const begun = await security.beginTotp({ session }, callOf(ctx, parts));
      const page = totpPage(sent.csrf, { ...begun, picture: pictureOf(begun.uri) });
      return { data: writeBegun(begun), page };
    },
    renderErrors: renderAccountErrors(parts),
  });

  mountAccountAction(router, parts, {
    path: '/auth/totp/confirm',
    async run({ ctx, sent, session }) {
      const { code } = readCode(onlyCode(sent.kind, sent.body), sent.query);
      return shown(await security.confirmTotp({ session, code, clientIp: ctx.state.clientIp }, callOf(ctx, parts)));
    },
    renderErrors: async ({ ctx, sent, errors }) => {
      // The page of the recovery codes was reloaded, or the set-up took too long.
      if (errors.status === 404) {
        const account = await loadAccount(ctx, parts);
        return accountPage(account, account.security.totpEnabled ? { done: 'totp_added' } : { errors });
      }
      const { csrfToken } = await requireSession(ctx, parts);
      const { secret = '', uri = '' } = sent.body as Record<string, string>;
      return totpPage(csrfToken, { secret, uri, picture: pictureOf(uri) }, { values: {}, errors });
    },
  });

  mountAccountAction(router, parts, {
    path: '/auth/totp/remove',
    async run({ ctx, sent, session }) {
      messages.nothing(sent.body, sent.query);
      await security.removeTotp({ session }, callOf(ctx, parts));
      return { data: '{"removed":true}', next: doneAt('totp_removed') };
    },
    renderErrors: renderAccountErrors(parts),
  });

  mountAccountAction(router, parts, {
    path: '/auth/recovery-codes',
    async run({ ctx, sent, session }) {
      messages.nothing(sent.body, sent.query);
      return shown(await security.renewRecoveryCodes({ session }, callOf(ctx, parts)));
    },
    renderErrors: renderAccountErrors(parts),
  });
}

/**
 * Drops all fields of a submitted form except the code. The form also contains the secret, so that its page can be
 * shown again after a wrong code.
 */
function onlyCode(kind: 'json' | 'form', body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return kind === 'json' ? body : { code: body.code };
}

const MAX_URI_LENGTH = 1000;

/** Returns a QR code as SVG, for embedding in the page. */
function pictureOf(uri: string): string {
  return uri.startsWith('otpauth://') && uri.length <= MAX_URI_LENGTH ? renderSVG(uri, { border: 2 }) : '';
}
