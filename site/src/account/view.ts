import { AppError } from '@commonplace/kit/errors';
import {
  type ApiKey,
  ApiKeyStatus,
  ApiKeyType,
  ListApiKeysRequest,
} from '@commonplace/proto/identity/v1/api_key_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { ACCOUNT, type Action } from '../auth/action.js';
import { optionsOf } from '../auth/options.js';
import { errorPage } from '../auth/pages.js';
import { type AuthParts, callOf } from '../auth/parts.js';
import { allowsPasskeys } from '../auth/passkey-messages.js';
import { orPage, seeOther, sendPage } from '../auth/respond.js';
import { findSession, requireSession } from '../auth/sessions.js';
import { callAs } from './caller.js';
import { type AccountData, accountPage, type Done, type FormName, isDone } from './page.js';

const MAX_SHOWN_KEYS = 200;

/** Serves the account page. */
export function mountAccountPage(router: Router, parts: AuthParts): void {
  router.get(ACCOUNT, (ctx) =>
    orPage(
      ctx,
      async () => {
        const session = await findSession(ctx, parts);
        if (session === undefined) return seeOther(ctx, `/auth/sign-in?next=${encodeURIComponent(ACCOUNT)}`);
        const done = String(ctx.query.done ?? '');
        sendPage(ctx, 200, accountPage(await loadAccount(ctx, parts), isDone(done) ? { done } : {}));
      },
      errorPage,
    ),
  );
}

/** Returns the path of the account page with a notice about a completed action. */
export function doneAt(done: Done): string {
  return `${ACCOUNT}?done=${done}`;
}

/** Returns a function that renders the account page again, with the error at the form that caused it. */
export function renderAccountErrors(parts: AuthParts, form?: FormName): NonNullable<Action['renderErrors']> {
  return async ({ ctx, sent, errors, reason }) => {
    const confirm = reason === 'reauthentication_required';
    return accountPage(await loadAccount(ctx, parts), { errors, form, values: sent.body, confirm });
  };
}

/** Reads what the account page shows. */
export async function loadAccount(ctx: Context, parts: AuthParts): Promise<AccountData> {
  const { cookie: session, csrfToken: csrf } = await requireSession(ctx, parts);
  const call = callOf(ctx, parts);
  const [security, sessions, keys, passkeys, { passwordMinLength }] = await Promise.all([
    parts.security.getSecurity({ session }, call),
    parts.security.listSessions({ session }, call),
    listKeys(ctx, parts, session),
    parts.security.listPasskeys({ session }, call),
    optionsOf(ctx, parts),
  ]);
  const hasPasskeyHost = allowsPasskeys(parts.publicOrigin);
  return {
    csrf,
    security,
    sessions: sessions.items,
    keys,
    passkeys: passkeys.items,
    hasPasskeyHost,
    passwordMinLength,
  };
}

/** Lists the person's keys. Returns none for a session that has to set up a second factor before it may list them. */
async function listKeys(ctx: Context, parts: AuthParts, session: string): Promise<readonly ApiKey[]> {
  try {
    const page = { limit: MAX_SHOWN_KEYS, offset: 0, cursor: '' };
    const request = { page, type: ApiKeyType.PERSONAL, status: ApiKeyStatus.ACTIVE };
    return (await parts.apiKeys.listApiKeys(ListApiKeysRequest.fromPartial(request), await callAs(ctx, parts, session)))
      .items;
  } catch (error) {
    if (error instanceof AppError && error.reason === 'second_factor_required') return [];
    throw error;
  }
}
