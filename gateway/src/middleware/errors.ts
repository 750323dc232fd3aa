import { isCallerTokenExpired } from '@commonplace/kit/auth';
import { type AppError, asAppError, Unavailable } from '@commonplace/kit/errors';
import { httpError, isRetryable } from '@commonplace/kit/http';
import type { Log } from '@commonplace/kit/log';
import { denied, traceFields } from '@commonplace/kit/telemetry';
import type { Middleware } from 'koa';
import { asksFor } from '../accept.js';
import { dropBody } from '../body/drop.js';
import { ERROR_LANGUAGES, type ErrorTexts, localize } from '../messages/localize.js';
import type { Denials } from './denials.js';
import type { Refusals } from './refusals.js';
import type { State } from './state.js';

interface ErrorParts {
  readonly publicUrl: string;
  readonly denials: Pick<Denials, 'note'>;
  readonly refusals: Pick<Refusals, 'note'>;
  readonly log: Log;
}

/** Default of `Retry-After` in seconds for server errors. */
const RETRY_SECONDS = 1;

/** Responds to thrown errors with the documented body. It never contains a stack, a query or another tenant's name. */
export function answerErrors({ publicUrl, denials, refusals, log }: ErrorParts): Middleware<State> {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = forClient(asAppError(thrown));
      if (!(await dropBody(ctx.req))) ctx.set('Connection', 'close');
      const { status, type } = httpError(error);
      const { requestId, traceparent } = ctx.state;
      if (error.code === 'PERMISSION_DENIED') {
        denied.bind({ reason: error.reason }).add();
        denials.note(ctx, error);
      }
      refusals.note(ctx, error);
      if (status === 500) {
        log.error('request.failed', {
          request_id: requestId,
          ...traceFields(traceparent),
          error: error.cause ?? error,
        });
      }
      ctx.status = status;
      ctx.set('Cache-Control', 'no-store');
      if (isRetryable(error)) ctx.set('Retry-After', String(error.retryAfter ?? RETRY_SECONDS));
      challenge(ctx, error, publicUrl);
      const problem = asksFor(ctx, 'application/problem+json');
      ctx.type = problem ? 'application/problem+json' : 'application/json; charset=utf-8';
      const doc = `${publicUrl}/docs/errors#${error.reason}`;
      const language = ctx.acceptsLanguages([...ERROR_LANGUAGES]) || 'en';
      ctx.set('Content-Language', language);
      const content = { error, ...localize(error, language), doc, requestId };
      const body = problem ? problemBody(content, status) : errorBody(content, type);
      ctx.body = JSON.stringify(body);
    }
  };
}

/** Replaces a refusal that does not concern the client's credential: 401 would make a client discard a valid one. */
function forClient(error: AppError): AppError {
  return isCallerTokenExpired(error) ? Unavailable({}, { cause: error }) : error;
}

/**
 * Sets `WWW-Authenticate`, which states what credential the client needs (RFC 6750), and where it learns how to get one
 * (RFC 9728).
 */
function challenge(ctx: { set(name: string, value: string): void }, error: AppError, publicUrl: string): void {
  const metadata = `resource_metadata="${publicUrl}${PROTECTED_RESOURCE_PATH}"`;
  if (error.code === 'UNAUTHENTICATED') ctx.set('WWW-Authenticate', `Bearer error="invalid_token", ${metadata}`);
  if (error.reason === 'insufficient_scope') {
    const scope = `scope="${String(error.details.scope)}"`;
    ctx.set('WWW-Authenticate', `Bearer error="insufficient_scope", ${scope}, ${metadata}`);
  }
}

/** Path of the metadata that a client needs before it requests a token. */
export const PROTECTED_RESOURCE_PATH = '/.well-known/oauth-protected-resource';

/** An error with its texts in the language of the answer. */
interface LocalizedError extends ErrorTexts {
  readonly error: AppError;
  readonly doc: string;
  readonly requestId: string;
}

function errorBody({ error, message, faults, doc, requestId }: LocalizedError, type: string) {
  return {
    error: {
      type,
      code: error.reason,
      message,
      param: error.param ?? null,
      details: faults.length > 0 ? faults : error.details,
      retryable: isRetryable(error),
      doc_url: doc,
    },
    request_id: requestId,
  };
}

/** Renders the error as RFC 9457 problem details. */
function problemBody({ error, message, faults, doc, requestId }: LocalizedError, status: number) {
  return {
    type: doc,
    title: error.reason.replaceAll('_', ' '),
    status,
    detail: message,
    instance: `urn:request:${requestId}`,
    code: error.reason,
    request_id: requestId,
    errors: faults,
    ...(Object.keys(error.details).length > 0 ? { details: error.details } : {}),
  };
}
