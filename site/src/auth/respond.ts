import { type AppError, asAppError } from '@commonplace/kit/errors';
import { envelope, isRetryable } from '@commonplace/kit/http';
import type { Reply } from '@commonplace/kit/rpc';
import type { Context } from 'koa';
import { type FormErrors, formErrorsOf } from './form-errors.js';
import { LABELS } from './pages.js';

/**
 * Content Security Policy of pages without scripts. It allows this server's styles and images, and forms that post to
 * it.
 */
const CSP = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Content Security Policy of pages that load a script of this server, which may call the server. Inline scripts stay
 * blocked.
 */
const CSP_WITH_SCRIPTS = `${CSP}; script-src 'self'; connect-src 'self'`;
/** Marks a page that loads a script. Text in a page is escaped, so it can't contain this tag. */
const SCRIPT_TAG = '<script src="/';

export function sendPage(ctx: Context, status: number, html: string): void {
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Content-Security-Policy', html.includes(SCRIPT_TAG) ? CSP_WITH_SCRIPTS : CSP);
  // Only the origin is sent as referrer, because the path may contain an invitation. Without a referrer policy that
  // sends the origin, our own forms would post without an `Origin` to check.
  ctx.set('Referrer-Policy', 'strict-origin');
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = html;
}

/** Responds with `data`, which is serialized JSON. */
export function sendData(ctx: Context, status: number, data: string, reply: Reply = {}): void {
  ctx.status = status;
  ctx.set('Cache-Control', 'no-store');
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = envelope(data, undefined, reply, ctx.state.requestId);
}

export function seeOther(ctx: Context, path: string): void {
  ctx.status = 303;
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Location', path);
  ctx.body = '';
}

/** Runs an action of a page. Errors are answered with a page as well. */
export async function orPage(ctx: Context, act: () => Promise<void>, page: (errors: FormErrors) => string) {
  try {
    await act();
  } catch (thrown) {
    const error = asAppError(thrown);
    const errors = formErrorsOf(error, LABELS);
    sendPage(ctx, errors.status, page(errors));
    explain(ctx, error, errors);
  }
}

function explain(ctx: Context, error: AppError, { status }: FormErrors): void {
  if (status === 401) ctx.set('WWW-Authenticate', 'Bearer');
  if (isRetryable(error)) ctx.set('Retry-After', String(error.retryAfter ?? 1));
  if (status === 500) ctx.app.emit('error', error.cause ?? error, ctx);
}
