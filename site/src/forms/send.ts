import { randomBytes } from 'node:crypto';
import { type AppError, asAppError } from '@commonplace/kit/errors';
import { httpError, isRetryable } from '@commonplace/kit/http';
import { FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import type { Context } from 'koa';
import { sentence } from '../page/fault-text.js';
import { formPolicy } from '../page/policies.js';
import { closedPage, type FormParts, formFailurePage, formPage, noFormPage } from './view/form-page.js';

/** Sends a form with the entered values. If the form accepts no answers, sends a page that says so. */
export function sendForm(ctx: Context, status: number, parts: Omit<FormParts, 'action' | 'nonce'>): void {
  if (parts.form.state !== FormPageState.OPEN) {
    send(ctx, status, closedPage(parts.form));
    return;
  }
  const nonce = randomBytes(16).toString('base64url');
  send(ctx, status, formPage({ ...parts, action: ctx.path, nonce }), nonce);
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
    explainFailure(ctx, error, status);
    send(ctx, status, formFailurePage(status < 500 ? sentence(error.message) : LATER));
  }
}

/** Tells the client when to try again, and the operator what has failed. */
export function explainFailure(ctx: Context, error: AppError, status: number): void {
  if (status === 500) ctx.app.emit('error', error.cause ?? error, ctx);
  if (isRetryable(error)) ctx.set('Retry-After', String(error.retryAfter ?? 1));
}

const LATER = 'The form cannot be shown now. Try again in a moment.';
