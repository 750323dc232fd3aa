import { randomUUID } from 'node:crypto';
import { AppError, asAppError } from '@commonplace/kit/errors';
import { httpError, readBytes, readFirstBytes } from '@commonplace/kit/http';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import { type FormPageService, FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { completeParts, type Posted, readPosted, valuesOf } from './answers.js';
import { faultsOf } from './faults.js';
import { explainFailure, orFailure, send, sendForm } from './send.js';
import { type FormAnswers, formFailurePage, sentPage, tooLargeText } from './view/form-page.js';

interface FormPartsOfServer {
  readonly formPages: Client<FormPageService>;
  /** Maximum size of a submission in bytes, including its files. */
  readonly bodyBytes: number;
  /** Timeout of a call in milliseconds. */
  readonly timeoutMs: number;
  /** Returns why a submission is refused, such as a rate limit, before it was read. */
  refusalOf(ctx: Context): unknown;
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
  const { bodyBytes } = parts;
  sendForm(ctx, 200, { form, submissionId: randomUUID(), answers: { ...NOTHING, values }, bodyBytes });
}

async function submitForm(ctx: Context, parts: FormPartsOfServer): Promise<void> {
  if (ctx.get('Sec-Fetch-Site') === 'cross-site') return send(ctx, 403, formFailurePage(FOREIGN));
  const token = tokenOf(ctx);
  const { bodyBytes } = parts;
  const refusal = parts.refusalOf(ctx);
  const size = Number(ctx.get('Content-Length'));
  const isTooLarge = size > bodyBytes;
  const limit = refusal === undefined ? bodyBytes : Math.min(bodyBytes, REFUSED_BYTES);
  const isCut = size > limit;
  const posted = await readBody(ctx, limit, isCut);
  if (posted === undefined) return;
  const form = await parts.formPages.getFormPage({ token }, callOf(ctx, parts));
  if (form.state !== FormPageState.OPEN)
    return sendForm(ctx, 409, { form, submissionId: '', answers: NOTHING, bodyBytes });
  const { credential, captchaToken, texts } = posted;
  const submissionId = UUID.test(posted.submissionId) ? posted.submissionId : randomUUID();
  try {
    if (refusal !== undefined) throw refusal;
    if (isTooLarge) throw new AppError('INVALID_ARGUMENT', 'payload_too_large', tooLargeText(bodyBytes));
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
    explainFailure(ctx, error, status);
    // The form is shown again with all entered values, even if its credential has expired because the page was open for
    // long. A field without a value was emptied, so its default is not shown again, unless the value did not arrive.
    const arrived = form.fields.filter(({ id }) => !isCut || texts.has(id));
    const values = new Map(arrived.map(({ id }) => [id, texts.get(id) ?? []]));
    const { faults, messages } = faultsOf(error, form, status);
    const again = posted.files.size > 0 || isCut ? [FILES_AGAIN] : [];
    const answers = { values, faults, messages: [...messages, ...again] };
    sendForm(ctx, status === 401 ? 400 : status, { form, submissionId, answers, bodyBytes });
  }
}

/** Maximum number of bytes that are read of a submission that is refused anyway. Texts come before most files. */
const REFUSED_BYTES = 256 * 1024;
const FILES_AGAIN = 'Choose your files again, because browsers do not keep them.';
const FOREIGN = 'This came from a page of another site. Open the form itself.';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Reads a submission, or the first `limit` bytes of one that is longer. Returns undefined if it failed and the error
 * has been answered.
 */
async function readBody(ctx: Context, limit: number, isCut: boolean): Promise<Posted | undefined> {
  const type = ctx.get('Content-Type');
  try {
    if (!isCut) return await readPosted(await readBytes(ctx.req, limit), type);
    return await readPosted(completeParts(await readFirstBytes(ctx.req, limit), type), type);
  } catch (error) {
    const message =
      (error as { type?: string }).type === 'entity.too.large' ? tooLargeText(limit) : 'This is no form’s answer.';
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
