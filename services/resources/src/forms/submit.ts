import { createHmac } from 'node:crypto';
import type { Caller } from '@commonplace/kit/auth';
import { AppError, type Fault, invalidFields, TenantBoundary } from '@commonplace/kit/errors';
import { derivedId, newId } from '@commonplace/kit/id';
import { countedNetwork } from '@commonplace/kit/network';
import type { CallContext } from '@commonplace/kit/rpc';
import type { FormSubmission, FormSubmissionMetadata } from '@commonplace/proto/resources/v1/form.js';
import type { SubmitFormRequest } from '@commonplace/proto/resources/v1/form_service.js';
import type { Settings } from '../config.js';
import { FormNotFound, PayloadTooLarge } from '../errors.js';
import { requireReach } from '../policy.js';
import { beginFileAttempt, orDiscard } from './attempts.js';
import type { Entry } from './batches.js';
import type { TableBinding } from './bindings.js';
import { captchaFault, type ProvenChallenge, spentFault, spentKey } from './captcha.js';
import { COLLECTED, type FormConfig } from './config.js';
import type { FoundForm } from './known.js';
import { closedBy, refusalOf } from './open.js';
import type { FormParts } from './parts.js';
import { type FormRecord, type Submission, submissionsOf } from './records.js';
import { countNewFiles, requireReadableFiles, storeFiles, withPlaceholders } from './store-files.js';
import { takeAnswers } from './take-answers.js';
import { type Answers, MAX_VALUES_BYTES } from './values.js';

/** Returns the form that a token opens, with its table. Throws `form_not_found`, also if the table is in the trash. */
export async function findForm(parts: FormParts, field: 'tokenHash' | 'hookHash', token: string): Promise<FoundForm> {
  const form = await parts.forms.byToken(field, parts.forms.tokens.hashes(token));
  const node = form && (await parts.tree.get(form.resourceId));
  if (form === undefined || node === undefined || node.state === 'trashed') throw FormNotFound();
  return { form, node };
}

/** A submission as it was received, before it is checked. */
interface ReceivedSubmission {
  readonly field: 'tokenHash' | 'hookHash';
  /** Returns the submitted values, given the form that reads them. */
  values(binding: TableBinding, config: FormConfig): Readonly<Record<string, unknown>>;
  /** Id of the submission, chosen by the client; empty for none. */
  readonly submissionId: string;
  /** Key that identifies the request, so that it has one outcome when it is repeated. */
  readonly requestKey: string | undefined;
  readonly metadata: FormSubmissionMetadata | undefined;
  /** Who submits by the public token; undefined for a webhook, through which another system submits for many people. */
  readonly respondent: Respondent | undefined;
}

interface Respondent {
  readonly caller: Caller;
  readonly clientIp: string;
  readonly formToken: string;
  /** The proof of work that a form may require. */
  readonly captchaToken: string;
}

/** Submits a form by its public token: runs the checks of this rpc, then those that all ways of submitting share. */
export async function submitForm(
  parts: FormParts,
  request: SubmitFormRequest,
  context: CallContext,
): Promise<FormSubmission> {
  const received = readSubmission(request, context.caller, context);
  const known = parts.forms.known.get(request.token);
  if (known !== undefined) {
    const taken = await submitWithCachedForm(parts, known, received, context);
    if (taken !== undefined) return taken;
  }
  const found = await findForm(parts, 'tokenHash', request.token);
  parts.forms.known.opened(request.token, found);
  await requireTenant(parts, found, context);
  return submitReceived(parts, found, received, context);
}

/**
 * Submits with the cached form; the batch reads the form again, once for all of its entries. Returns undefined if the
 * submission has to be checked against the stored form: cached data neither refuses a submission nor reports it as a
 * repeat.
 */
async function submitWithCachedForm(
  parts: FormParts,
  known: FoundForm,
  received: ReceivedSubmission,
  context: CallContext,
): Promise<FormSubmission | undefined> {
  const checked = await checkAsKnown(parts, known, received, context).catch(() => undefined);
  if (checked === undefined) return undefined;
  const submission = await parts.forms.batches.add(entryOf(parts, known, received, checked, context, known));
  if (submission !== undefined) warnOfUnstored(checked.answers, context);
  return submission && answerOf(known.form, submission);
}

async function checkAsKnown(
  parts: FormParts,
  known: FoundForm,
  received: ReceivedSubmission,
  context: CallContext,
): Promise<AcceptedSubmission | undefined> {
  await requireTenant(parts, known, context);
  const checked = await checkIn(parts, known, received, context);
  if (checked.before !== undefined || checked.answers.files.length > 0) return undefined;
  context.acts();
  return checked;
}

/**
 * Returns the submission that a request with the public token contains, made by `caller`. Throws `payload_too_large`.
 */
export function readSubmission(request: SubmitFormRequest, caller: Caller, context: CallContext): ReceivedSubmission {
  if (Buffer.byteLength(request.values) > MAX_VALUES_BYTES && valuesSize(request.values) > MAX_VALUES_BYTES)
    throw PayloadTooLarge({ limit: MAX_VALUES_BYTES }, { param: 'values' });
  return {
    field: 'tokenHash',
    values: () => JSON.parse(request.values.toString()) as Record<string, unknown>,
    submissionId: request.submissionId,
    requestKey: context.metadata.idempotency?.id,
    metadata: request.metadata,
    respondent: {
      caller,
      clientIp: request.clientIp,
      formToken: request.token,
      captchaToken: request.captchaToken,
    },
  };
}

const FILE_CONTENT = '"content_base64":"';

/** Returns the size of the values in bytes, without the contents of files. Strings have their quotation marks escaped. */
function valuesSize(json: Buffer): number {
  let size = json.length;
  for (let at = json.indexOf(FILE_CONTENT); at >= 0; ) {
    const from = at + FILE_CONTENT.length;
    const to = json.indexOf('"', from);
    size -= to - from;
    at = json.indexOf(FILE_CONTENT, to);
  }
  return size;
}

/** Throws a tenant boundary error unless the caller belongs to the form's tenant or has the form's own credential. */
async function requireTenant({ policy }: FormParts, { form, node }: FoundForm, context: CallContext): Promise<void> {
  const { caller } = context;
  if (caller.credential.formId !== undefined) {
    if (caller.credential.formId !== form.id) throw TenantBoundary();
    return;
  }
  requireReach(caller, node);
  const subject = await policy.subject(context);
  const belongs = () => subject.person.orgs.has(node.tenant) || subject.person.workspaces.has(node.workspaceId);
  if (belongs()) return;
  await subject.refresh();
  if (!belongs()) throw TenantBoundary();
}

/** Checks, stores and counts a submission exactly once. A repeated submission gets the answer of the first. */
export async function submitReceived(
  parts: FormParts,
  found: FoundForm,
  received: ReceivedSubmission,
  context: CallContext,
): Promise<FormSubmission> {
  const { form } = found;
  const checked = await checkIn(parts, found, received, context);
  if (checked.before !== undefined) return answerOf(form, checked.before);
  context.acts();
  warnOfUnstored(checked.answers, context);
  const entry = entryOf(parts, found, received, checked, context, undefined);
  const { batches } = parts.forms;
  if (entry.answers.files.length === 0) return answerOf(form, await batches.add(entry));
  await batches.check({ ...entry, answers: withPlaceholders(entry.answers) });
  await requireReadableFiles(parts, entry.answers, received.respondent?.caller, context);
  const attempt = await beginFileAttempt(parts, found, countNewFiles(entry.answers), context.deadline);
  const submission = await orDiscard(parts, attempt, async () => {
    const answers = await storeFiles(parts, found, entry.answers, attempt, context);
    return batches.add({ ...entry, answers, attempt });
  });
  return answerOf(form, submission);
}

/** Warns the client of values that nobody will read, as their fields have no column that takes them. */
function warnOfUnstored({ unstored }: Answers, { reply }: CallContext): void {
  if (unstored.length === 0) return;
  const message = `Without a column that takes their values these answers are not stored: ${unstored.join(', ')}.`;
  reply.warnings = [...(reply.warnings ?? []), { code: 'field_disabled', message }];
}

/** A submission that has passed all checks but is not stored yet. */
interface AcceptedSubmission
  extends Pick<Entry, 'submissionId' | 'knownAs' | 'binding' | 'raw' | 'answers' | 'archived' | 'captcha'> {
  readonly before?: undefined;
}

/** The outcome of the checks: an accepted submission, or the stored one that it repeats. */
type CheckResult = AcceptedSubmission | { readonly before: Submission };

/** Runs all checks that are possible before a submission is written. */
async function checkIn(
  parts: FormParts,
  { form, node }: FoundForm,
  received: ReceivedSubmission,
  context: CallContext,
): Promise<CheckResult> {
  const { forms } = parts;
  const { submissionId, knownAs } = idsOf(form, received);
  const [before] = await submissionsOf(forms, form.id, knownAs);
  if (before !== undefined) return { before };
  const binding = await forms.bindings.of(form, node);
  const raw = collected(form.config, received.values(binding, form.config), received);
  const { answers, captcha } = await check(parts, form, binding, raw, received);
  if (captcha !== undefined && (await forms.captchas.get(spentKey(form.id, captcha))) !== undefined)
    throw invalidFields([spentFault(forms.captcha.issue(form.id))]);
  const { archived } = await parts.terms.of(node.workspaceId, context.onward);
  const tally = form.config.max_submissions === undefined ? undefined : await forms.tallies.get(form.id);
  const closed = closedBy({ form, tally, binding, archived, locked: node.locked, now: Date.now() });
  if (closed !== undefined) throw refusalOf(closed);
  return { submissionId, knownAs, binding, raw, answers, captcha, archived };
}

function entryOf<K extends FoundForm | undefined>(
  parts: FormParts,
  { form }: FoundForm,
  received: ReceivedSubmission,
  { submissionId, knownAs, binding, raw, answers, captcha, archived }: AcceptedSubmission,
  context: CallContext,
  known: K,
): Entry & { readonly known: K } {
  return {
    context,
    form,
    known,
    binding,
    field: received.field,
    raw,
    answers,
    submissionId,
    knownAs,
    claim: claimOf(form, received, parts.settings),
    captcha,
    archived,
    attempt: undefined,
    metadata: metadataOf(received.metadata),
  };
}

const DAY_MS = 86_400_000;

/**
 * Returns the id under which a new submission is stored, and the ids under which it may be stored already: the client's
 * own id; else ids derived from the request's key and today's or yesterday's date; else a new id, which needs no
 * look-up.
 */
function idsOf(
  form: FormRecord,
  { submissionId, requestKey }: ReceivedSubmission,
): Pick<Entry, 'submissionId' | 'knownAs'> {
  if (submissionId !== '') return { submissionId, knownAs: [submissionId] };
  if (requestKey === undefined) return { submissionId: newId(), knownAs: [] };
  const day = Math.floor(Date.now() / DAY_MS);
  const today = derivedId(`form/${form.id}/${requestKey}/${day}`);
  return { submissionId: today, knownAs: [today, derivedId(`form/${form.id}/${requestKey}/${day - 1}`)] };
}

/** Checks the values and the proof of work, and throws all of their faults at once. */
async function check(
  parts: FormParts,
  form: FormRecord,
  binding: TableBinding,
  raw: Readonly<Record<string, unknown>>,
  received: ReceivedSubmission,
): Promise<Pick<AcceptedSubmission, 'answers' | 'captcha'>> {
  const faults: Fault[] = [];
  let answers: Answers | undefined;
  try {
    answers = await takeAnswers({ ...binding, tenant: form.tenant }, raw, parts.forms.findMismatches);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    faults.push(...error.faults);
  }
  const captcha = checkCaptcha(parts, form, received);
  if (captcha !== undefined && 'code' in captcha) faults.push(captcha);
  if (answers === undefined || faults.length > 0) throw invalidFields(faults);
  return { answers, captcha: captcha as ProvenChallenge | undefined };
}

/** Returns the challenge that was solved, or the fault in its proof; undefined if the form requires none. */
function checkCaptcha(
  { forms: { captcha } }: FormParts,
  { id, config }: FormRecord,
  { respondent, submissionId }: ReceivedSubmission,
): ProvenChallenge | Fault | undefined {
  if (!config.require_captcha || respondent === undefined) return undefined;
  const { formToken, captchaToken: text } = respondent;
  if (text === '') {
    return captchaFault(captcha.issue(id), 'missing_field', 'The form requires a captcha_token: solve `captcha`.');
  }
  const outcome = captcha.check(id, { formToken, submissionId, text });
  return 'proven' in outcome ? outcome.proven : captchaFault(captcha.issue(id), 'invalid_value', outcome.fault);
}

/** Returns the values, with the e-mail address or user id that the form collects of a respondent with an account. */
function collected(
  { collect, fields }: FormConfig,
  raw: Readonly<Record<string, unknown>>,
  { respondent }: ReceivedSubmission,
): Readonly<Record<string, unknown>> {
  if (!collect.email && !collect.user) return raw;
  const { [COLLECTED.user]: _claimed, ...withoutUser } = raw;
  const caller = respondent?.caller;
  const has = (id: string) => fields.some((field) => field.id === id);
  const known = caller !== undefined && caller.userId !== '';
  return {
    ...(known && collect.email && has(COLLECTED.email) && { [COLLECTED.email]: caller.userEmail }),
    ...(collect.user ? withoutUser : raw),
    ...(known && collect.user && has(COLLECTED.user) && { [COLLECTED.user]: [caller.userId] }),
  };
}

/**
 * Returns the key of a respondent's single response: a hash of their account or network, keyed with the form's token.
 * Nothing else about them is stored. Returns undefined if the form does not limit responses.
 */
function claimOf(
  form: FormRecord,
  { respondent }: ReceivedSubmission,
  { ipv6Prefix }: Pick<Settings, 'ipv6Prefix'>,
): string | undefined {
  const per = form.config.one_response_per;
  if (per === 'none' || respondent === undefined) return undefined;
  const { caller, clientIp, formToken } = respondent;
  const network = countedNetwork(clientIp, ipv6Prefix);
  // A respondent without an account is identified by the network alone.
  const who = per === 'account' && caller.userId !== '' ? `a:${caller.userId}` : `c:${network}`;
  return createHmac('sha256', formToken).update(`${form.id}\n${who}`).digest('base64url');
}

function metadataOf(metadata: FormSubmissionMetadata | undefined): string | undefined {
  if (metadata === undefined) return undefined;
  const { source, referrer, locale } = metadata;
  return JSON.stringify({ source, referrer, locale });
}

function answerOf({ config }: FormRecord, { submissionId, rowId, submittedAt }: Submission): FormSubmission {
  return {
    submissionId,
    rowId,
    submittedAt,
    successMessage: config.success_message,
    redirectUrl: config.redirect_url,
  };
}
