import { randomUUID } from 'node:crypto';
import { asAppError } from '@commonplace/kit/errors';
import { httpError, isRetryable, readBytes } from '@commonplace/kit/http';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import { type FormPageService, FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { type Posted, readPosted, valuesOf } from './answers.js';
import { faultsOf } from './faults.js';
import { orFailure, send, sendForm } from './send.js';
import { type FormAnswers, formFailurePage, sentPage } from './view/form-page.js';

export interface FormPartsOfServer {
  readonly formPages: Client<FormPageService>;
  /** Maximum size of a submission in bytes, including its files. */
  readonly bodyBytes: number;
  /** Timeout of a call in milliseconds. */
  readonly timeoutMs: number;
}

const PATH = '/f/:token';
const MAX_TOKEN = 64;

/** Serves the hosted pages of forms to people without an account. They work without scripts. */
export function mountForms(router: Router, parts: FormPartsOfServer): void {
  router.get(PATH, (ctx) => orFailure(ctx, () => showForm(ctx, parts)));
  router.post(PATH, (ctx) => orFailure(ctx, () => submitForm(ctx, parts)));
}

const NOTHING: FormAnswers = { values: new Map(), faults: new Map(), messages: [] };

async function showForm(ctx: Context, parts: FormPartsOfServer): Promise<void> {
  const form = await parts.formPages.getFormPage({ token: tokenOf(ctx) }, callOf(ctx, parts));
  // Values by field id with which the query of a link prefills the form.
  const values = new Map<string, readonly string[]>();
  for (const { id } of form.fields) {
    const given = ctx.query[id];
    if (given !== undefined) values.set(id, [given].flat());
  }
  sendForm(ctx, 200, form, randomUUID(), { ...NOTHING, values });
}

async function submitForm(ctx: Context, parts: FormPartsOfServer): Promise<void> {
  if (ctx.get('Sec-Fetch-Site') === 'cross-site') return send(ctx, 403, formFailurePage(FOREIGN));
  const token = tokenOf(ctx);
  const posted = await readBody(ctx, parts);
  if (posted === undefined) return;
  const form = await parts.formPages.getFormPage({ token }, callOf(ctx, parts));
  if (form.state !== FormPageState.OPEN) return sendForm(ctx, 409, form, '', NOTHING);
  const { credential, captchaToken, texts } = posted;
  const submissionId = UUID.test(posted.submissionId) ? posted.submissionId : randomUUID();
  try {
    const request = {
      token,
      credential,
      values: Buffer.from(JSON.stringify(await valuesOf(form.fields, posted))),
      submissionId,
      metadata: { source: 'page', referrer: undefined, locale: localeOf(ctx) },
      captchaToken,
      clientIp: ctx.state.clientIp,
    };
    send(ctx, 200, sentPage(await parts.formPages.submitFormPage(request, callOf(ctx, parts)), form));
  } catch (thrown) {
    const error = asAppError(thrown);
    const { status } = httpError(error);
    if (status >= 500) throw error;
    if (isRetryable(error)) ctx.set('Retry-After', String(error.retryAfter ?? 1));
    // The form is shown again with all entered values, even if its credential has expired because the page was open for
    // long.
    // A field without a value was emptied, so its default is not shown again.
    const values = new Map(form.fields.map(({ id }) => [id, texts.get(id) ?? []]));
    const answers = { values, ...faultsOf(error, form) };
    sendForm(ctx, status === 401 ? 400 : status, form, submissionId, answers);
  }
}

const FOREIGN = 'This came from a page of another site. Open the form itself.';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reads a submission. Returns undefined if it failed and the error has been answered. */
async function readBody(ctx: Context, { bodyBytes }: FormPartsOfServer): Promise<Posted | undefined> {
  try {
    return await readPosted(await readBytes(ctx.req, bodyBytes), ctx.get('Content-Type'));
  } catch (error) {
    const tooLarge = (error as { type?: string }).type === 'entity.too.large';
    // The rest of the body is not read, so the connection can't be reused.
    if (tooLarge) ctx.set('Connection', 'close');
    const limit = `${Math.floor(bodyBytes / (1024 * 1024))} MiB`;
    const message = tooLarge ? `The files are too large: at most ${limit} all together.` : 'This is no form’s answer.';
    send(ctx, 400, formFailurePage(message));
    return undefined;
  }
}

const tokenOf = ({ params }: Context): string => String(params.token ?? '').slice(0, MAX_TOKEN);

/** Returns the first language in `Accept-Language`. */
function localeOf(ctx: Context): string | undefined {
  return /^[A-Za-z\d-]{2,35}/.exec(ctx.get('Accept-Language'))?.[0];
}

function callOf(ctx: Context, { timeoutMs }: FormPartsOfServer): CallOptions {
  const { requestId, traceparent } = ctx.state;
  return { metadata: { requestId, traceparent }, deadline: Date.now() + timeoutMs };
}
