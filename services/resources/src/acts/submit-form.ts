import { createHmac } from 'node:crypto';
import { type Caller, reachesWorkspace } from '@commonplace/kit/auth';
import { AppError, type Fault, TenantBoundary } from '@commonplace/kit/errors';
import { derivedId, newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { FormSubmission, FormSubmissionMetadata } from '@commonplace/proto/resources/v1/form.js';
import type { SubmitFormRequest } from '@commonplace/proto/resources/v1/form_service.js';
import { FormNotFound, PayloadTooLarge } from '../errors.js';
import type { Entry } from '../forms/batches.js';
import type { TableBinding } from '../forms/bindings.js';
import { provesWork } from '../forms/captcha.js';
import { COLLECTED, type FormConfig } from '../forms/config.js';
import type { FoundForm } from '../forms/known.js';
import { closedBy, refusalOf } from '../forms/open.js';
import { type Answers, MAX_VALUES_BYTES, submissionFaults, takeValues } from '../forms/values.js';
import type { Parts } from '../parts.js';
import { type FormRecord, type Submission, submissionsOf } from '../stores/forms.js';
import { storeFiles } from './form-files.js';

/** The live form that a token opens. Throws `form_not_found`, for a table in the trash as well. */
export async function findForm(parts: Parts, field: 'tokenHash' | 'hookHash', token: string): Promise<FoundForm> {
  const form = await parts.forms.byToken(field, parts.forms.tokens.hashes(token));
  const node = form && (await parts.tree.get(form.resourceId));
  if (form === undefined || node === undefined || node.state === 'trashed') throw FormNotFound();
  return { form, node };
}

/** What somebody hands in. */
export interface Handed {
  readonly field: 'tokenHash' | 'hookHash';
  /** The values, once it is known what the form asks. */
  values(binding: TableBinding, config: FormConfig): Readonly<Record<string, unknown>>;
  /** The client's own id of the submission; empty for none. */
  readonly submissionId: string;
  /** Names the request, so that it has one outcome when it is sent again. */
  readonly requestKey: string | undefined;
  readonly metadata: FormSubmissionMetadata | undefined;
  /** Who answers, by the public token; undefined where another system hands in for many. */
  readonly respondent: Respondent | undefined;
}

export interface Respondent {
  readonly caller: Caller;
  readonly clientIp: string;
  readonly formToken: string;
  /** The proof of work that a form may ask for. */
  readonly captchaToken: string;
}

/** Submits a form by its public token: the rpc's own gates, then what all ways into a form share. */
export async function submitForm(
  parts: Parts,
  request: SubmitFormRequest,
  context: CallContext,
): Promise<FormSubmission> {
  const handed = handedBy(request, context.caller, context);
  const known = parts.forms.known.get(request.token);
  if (known !== undefined) {
    const taken = await handInAsKnown(parts, known, handed, context);
    if (taken !== undefined) return taken;
  }
  const found = await findForm(parts, 'tokenHash', request.token);
  parts.forms.known.opened(request.token, found);
  await requireTenant(parts, found, context);
  return handIn(parts, found, handed, context);
}

/**
 * Takes a submission by the form as it was known, which its batch reads again, once for all of them. Undefined where it
 * is to be looked at with the form as it is: nobody is refused or told of an earlier submission by what may have changed.
 */
async function handInAsKnown(
  parts: Parts,
  known: FoundForm,
  handed: Handed,
  context: CallContext,
): Promise<FormSubmission | undefined> {
  const checked = await checkAsKnown(parts, known, handed, context).catch(() => undefined);
  if (checked === undefined) return undefined;
  const submission = await parts.forms.batches.add(entryOf(known, handed, checked, context, known));
  return submission && answerOf(known.form, submission);
}

async function checkAsKnown(
  parts: Parts,
  known: FoundForm,
  handed: Handed,
  context: CallContext,
): Promise<Accepted | undefined> {
  await requireTenant(parts, known, context);
  const checked = await checkIn(parts, known, handed, context);
  if (checked.before !== undefined || checked.answers.files.length > 0) return undefined;
  context.acts();
  return checked;
}

/** What a request with the public token hands in, for whoever calls. */
export function handedBy(request: SubmitFormRequest, caller: Caller, context: CallContext): Handed {
  if (Buffer.byteLength(request.values) > MAX_VALUES_BYTES && valuesSize(request.values) > MAX_VALUES_BYTES)
    throw PayloadTooLarge({ limit: MAX_VALUES_BYTES });
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

/** Bytes of values without the contents of files. */
function valuesSize(json: Buffer): number {
  let files = 0;
  JSON.parse(json.toString(), (key, value: unknown) => {
    if (key === 'content_base64' && typeof value === 'string') files += value.length;
    return value;
  });
  return json.length - files;
}

/** Who holds a key of the form's tenant may submit, and who was given the form's own credential. */
async function requireTenant({ policy }: Parts, { form, node }: FoundForm, context: CallContext): Promise<void> {
  const { caller } = context;
  if (caller.credential.formId !== undefined) {
    if (caller.credential.formId !== form.id) throw TenantBoundary();
    return;
  }
  if (!reachesWorkspace(caller, node.workspaceId, node.orgId)) throw TenantBoundary();
  const standing = await policy.standing(context);
  const belongs = () => standing.person.orgs.has(node.tenant) || standing.person.workspaces.has(node.workspaceId);
  if (belongs()) return;
  await standing.refresh();
  if (!belongs()) throw TenantBoundary();
}

/** Takes a submission in: once, whole, and counted; what was handed in before is answered as before. */
export async function handIn(
  parts: Parts,
  found: FoundForm,
  handed: Handed,
  context: CallContext,
): Promise<FormSubmission> {
  const { form } = found;
  const checked = await checkIn(parts, found, handed, context);
  if (checked.before !== undefined) return answerOf(form, checked.before);
  context.acts();
  const { answers, submissionId } = checked;
  const stored =
    answers.files.length === 0
      ? answers
      : await storeFiles(parts, found, answers, submissionId, handed.respondent?.caller, context);
  const submission = await parts.forms.batches.add(
    entryOf(found, handed, { ...checked, answers: stored }, context, undefined),
  );
  return answerOf(form, submission);
}

/** A submission that a form takes; nothing of it is stored yet. */
interface Accepted extends Pick<Entry, 'submissionId' | 'knownAs' | 'binding' | 'raw' | 'answers' | 'archived'> {
  readonly before?: undefined;
}

/** What a form says to a submission, or the submission that it repeats. */
type Checked = Accepted | { readonly before: Submission };

/** Looks at all that can be told before a submission is written. */
async function checkIn(
  parts: Parts,
  { form, node }: FoundForm,
  handed: Handed,
  context: CallContext,
): Promise<Checked> {
  const { forms } = parts;
  const { submissionId, knownAs } = idsOf(form, handed);
  const [before] = await submissionsOf(forms, form.id, knownAs);
  if (before !== undefined) return { before };
  const binding = await forms.bindings.of(form, node);
  const raw = collected(form.config, handed.values(binding, form.config), handed);
  const answers = check(form, binding, raw, handed);
  const { archived } = await parts.terms.of(node.workspaceId, context.onward);
  const tally = form.config.max_submissions === undefined ? undefined : await forms.tallies.get(form.id);
  const closed = closedBy({ form, tally, archived, locked: node.locked, now: Date.now() });
  if (closed !== undefined) throw refusalOf(closed);
  return { submissionId, knownAs, binding, raw, answers, archived };
}

function entryOf<K extends FoundForm | undefined>(
  { form }: FoundForm,
  handed: Handed,
  { submissionId, knownAs, binding, raw, answers, archived }: Accepted,
  context: CallContext,
  known: K,
): Entry & { readonly known: K } {
  return {
    context,
    form,
    known,
    binding,
    field: handed.field,
    raw,
    answers,
    submissionId,
    knownAs,
    claim: claimOf(form, handed),
    archived,
    metadata: metadataOf(handed.metadata),
  };
}

const DAY_MS = 86_400_000;

/**
 * Under which id a new submission is noted, and under which it may have been noted before: the client's own; else one
 * that its request's key gives today, or gave yesterday; else a new one, which nobody has to look for.
 */
function idsOf(form: FormRecord, { submissionId, requestKey }: Handed): Pick<Entry, 'submissionId' | 'knownAs'> {
  if (submissionId !== '') return { submissionId, knownAs: [submissionId] };
  if (requestKey === undefined) return { submissionId: newId(), knownAs: [] };
  const day = Math.floor(Date.now() / DAY_MS);
  const today = derivedId(`form/${form.id}/${requestKey}/${day}`);
  return { submissionId: today, knownAs: [today, derivedId(`form/${form.id}/${requestKey}/${day - 1}`)] };
}

/** Values and proof of work: all that is wrong with them at once. */
function check(
  form: FormRecord,
  binding: TableBinding,
  raw: Readonly<Record<string, unknown>>,
  handed: Handed,
): Answers {
  const faults: Fault[] = [];
  let answers: Answers | undefined;
  try {
    answers = takeValues(binding.fields, binding.disabled, raw);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    faults.push(...error.faults);
  }
  const { respondent, submissionId } = handed;
  if (form.config.require_captcha && respondent !== undefined) {
    const param = 'captcha_token';
    if (respondent.captchaToken === '')
      faults.push({ param, code: 'missing_field', message: 'The form asks for a captcha_token.' });
    else if (!provesWork(respondent.formToken, submissionId, respondent.captchaToken))
      faults.push({ param, code: 'invalid_value', message: 'is no proof for this submission_id.' });
  }
  if (answers === undefined || faults.length > 0) throw submissionFaults(faults);
  return answers;
}

/** What the form collects of a respondent who has an account. */
function collected(
  { collect, fields }: FormConfig,
  raw: Readonly<Record<string, unknown>>,
  { respondent }: Handed,
): Readonly<Record<string, unknown>> {
  if (!collect.email && !collect.user) return raw;
  const { [COLLECTED.user]: _claimed, ...said } = raw;
  const caller = respondent?.caller;
  const has = (id: string) => fields.some((field) => field.id === id);
  const known = caller !== undefined && caller.userId !== '';
  return {
    ...(known && collect.email && has(COLLECTED.email) && { [COLLECTED.email]: caller.userEmail }),
    ...(collect.user ? said : raw),
    ...(known && collect.user && has(COLLECTED.user) && { [COLLECTED.user]: [caller.userId] }),
  };
}

/** By whom or from where a form takes one response: a hash, whose key is the form's token, is all that is kept. */
function claimOf(form: FormRecord, { respondent }: Handed): string | undefined {
  const per = form.config.one_response_per;
  if (per === 'none' || respondent === undefined) return undefined;
  const { caller, clientIp, formToken } = respondent;
  // Who answers without an account is told by the address alone.
  const who = per === 'account' && caller.userId !== '' ? `a:${caller.userId}` : `c:${clientIp}`;
  return createHmac('sha256', formToken).update(`${form.id}\n${who}`).digest('base64url');
}

function metadataOf(metadata: FormSubmissionMetadata | undefined): string | undefined {
  if (metadata === undefined) return undefined;
  const { source, referrer, locale } = metadata;
  return JSON.stringify({ source, referrer, locale });
}

export function answerOf({ config }: FormRecord, { submissionId, rowId, submittedAt }: Submission): FormSubmission {
  return {
    submissionId,
    rowId,
    submittedAt,
    successMessage: config.success_message,
    redirectUrl: config.redirect_url,
  };
}
