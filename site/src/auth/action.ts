import { asAppError } from '@commonplace/kit/errors';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { type FormErrors, formErrorsOf } from './form-errors.js';
import { opensPage } from './not-found.js';
import { requireCsrf, requireOwnPage } from './origin.js';
import { errorPage, LABELS } from './pages.js';
import type { AuthParts } from './parts.js';
import { orPage, seeOther, sendData, sendPage } from './respond.js';
import { requireSession } from './sessions.js';
import { readSubmission, type Submission } from './submission.js';

/** The outcome of an action: JSON for a program, and a page or a redirect for a browser. */
interface Outcome {
  readonly data: string;
  readonly page?: string;
  /** Path that the browser is redirected to; the account page by default. */
  readonly next?: string;
}

/** An operation under `/auth` that people perform with a form and programs with JSON. */
export interface Action {
  readonly path: string;
  /** Reads the fields and performs the action. `session` is the session cookie; empty for actions that need none. */
  run(input: { ctx: Context; sent: Submission; session: string }): Promise<Outcome>;
  /** Renders the page for a browser whose action failed. */
  renderErrors?(input: { ctx: Context; sent: Submission; errors: FormErrors; reason: string }): Promise<string>;
}

export const ACCOUNT = '/auth/account';

/** Serves an action without requiring a session. Refuses submissions from pages of other sites. */
export function mountOpenAction(router: Router, parts: AuthParts, action: Action): void {
  mount(router, parts, action, async () => '');
}

/**
 * Serves an action to signed-in people and requires their CSRF token. A browser that opens its address, after the page
 * that answered the action, gets the account page.
 */
export function mountAccountAction(router: Router, parts: AuthParts, action: Action): void {
  router.get(action.path, (ctx, next) => (opensPage(ctx) ? seeOther(ctx, ACCOUNT) : next()));
  mount(router, parts, action, async (ctx, sent) => {
    const { cookie, csrfToken } = await requireSession(ctx, parts);
    requireCsrf(ctx, sent.csrf, csrfToken);
    return cookie;
  });
}

function mount(
  router: Router,
  parts: AuthParts,
  action: Action,
  admit: (ctx: Context, sent: Submission) => Promise<string>,
): void {
  const act = async (ctx: Context, sent: Submission) => {
    requireOwnPage(ctx, parts.publicOrigin);
    const session = await admit(ctx, sent);
    return action.run({ ctx, sent, session });
  };

  router.post(action.path, async (ctx) => {
    const sent = await readSubmission(ctx);
    if (sent.kind === 'json') return sendData(ctx, 200, (await act(ctx, sent)).data);
    return orPage(ctx, () => answerForm(ctx, sent, action, act), errorPage);
  });
}

async function answerForm(
  ctx: Context,
  sent: Submission,
  action: Action,
  act: (ctx: Context, sent: Submission) => Promise<Outcome>,
): Promise<void> {
  try {
    const { page, next = ACCOUNT } = await act(ctx, sent);
    if (page === undefined) seeOther(ctx, next);
    else sendPage(ctx, 200, page);
  } catch (thrown) {
    const error = asAppError(thrown);
    if (action.renderErrors === undefined || error.code === 'INTERNAL' || error.code === 'UNAUTHENTICATED')
      throw thrown;
    const errors = formErrorsOf(error, LABELS);
    sendPage(ctx, errors.status, await action.renderErrors({ ctx, sent, errors, reason: error.reason }));
  }
}
