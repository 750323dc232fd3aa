import { randomBytes } from 'node:crypto';
import { asAppError } from '@commonplace/kit/errors';
import { httpError, isRetryable } from '@commonplace/kit/http';
import { type FormPage, FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import type { Context } from 'koa';
import { sentence } from '../page/fault-text.js';
import { formPolicy } from '../page/policies.js';
import { closedPage, type FormAnswers, formFailurePage, formPage, noFormPage } from './view/form-page.js';

/** Sends a form with the entered values. If the form accepts no answers, sends a page that says so. */
export function sendForm(
  ctx: Context,
  status: number,
  form: FormPage,
  submissionId: string,
  answers: FormAnswers,
): void {
  if (form.state !== FormPageState.OPEN) {
    send(ctx, status, closedPage(form));
    return;
  }
  const nonce = randomBytes(16).toString('base64url');
  const { path: action } = ctx;
  send(ctx, status, formPage({ form, action, submissionId, nonce, answers }), nonce);
}

export function send(ctx: Context, status: number, html: string, nonce?: string): void {
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Content-Security-Policy', formPolicy(nonce));
  // The URL of a form grants access to it, so it is not sent as a referrer.
  ctx.set('Referrer-Policy', 'no-referrer');
  ctx.set('X-Robots-Tag', 'noindex, nofollow');
  ctx.set('Cross-Origin-Opener-Policy', 'same-origin');
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = html;
}

/** Runs an action. Errors are answered with a page. */
export async function orFailure(ctx: Context, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (thrown) {
    const error = asAppError(thrown);
    const { status } = httpError(error);
    if (status === 404) return send(ctx, 404, noFormPage());
    if (status === 500) ctx.app.emit('error', error.cause ?? error, ctx);
    if (isRetryable(error)) ctx.set('Retry-After', String(error.retryAfter ?? 1));
    send(ctx, status, formFailurePage(status < 500 ? sentence(error.message) : LATER));
  }
}

const LATER = 'The form cannot be shown now. Try again in a moment.';
