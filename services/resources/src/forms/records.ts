import type { Actor } from '@commonplace/kit/auth';
import { maxEntries } from '@commonplace/kit/cache';
import type { Collection, CollectionSpec, Collections, StoredRecord } from '@commonplace/kit/store';
import { LRUCache } from 'lru-cache';
import type { FileAttempt } from './attempts.js';
import { spentCaptchaCollection } from './captcha.js';
import type { FormConfig } from './config.js';

/** The form of a table. */
export interface FormRecord extends StoredRecord {
  readonly tenant: string;
  /** Id of the table; a table has at most one form. */
  readonly resourceId: string;
  readonly config: FormConfig;
  readonly isActive: boolean;
  /** Keyed hashes of the tokens, and the tokens themselves, encrypted for this record. */
  readonly tokenHash: string;
  readonly tokenSealed: string;
  readonly hookHash: string;
  readonly hookSealed: string;
  readonly createdBy: Actor;
  /** Id of the person who created the form, who also becomes the owner of the uploaded files. */
  readonly createdById: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/**
 * Counts the submissions of a form. It is stored under the form's id, so that a submission does not change the form.
 */
export interface FormTally extends StoredRecord {
  readonly tenant: string;
  readonly count: number;
  readonly lastSubmittedAt: string;
}

/** A submission, stored under `<form>.<submission id>`. Its answers are stored in its row only. */
export interface Submission extends StoredRecord {
  readonly tenant: string;
  readonly formId: string;
  readonly submissionId: string;
  readonly rowId: string;
  /** Number of the submission within the form: from 1 on, without gaps. */
  readonly number: number;
  readonly submittedAt: string;
  /** What the client sent about itself, as JSON text. */
  readonly metadata?: string;
}

/** Marks that a respondent has used their single response to a form; stored under `<form>.<hash of who>`. */
export interface ResponseClaim extends StoredRecord {
  readonly tenant: string;
  readonly formId: string;
}

export const formCollection: CollectionSpec<FormRecord> = {
  name: 'forms',
  indexes: [
    { fields: ['resourceId'], unique: true },
    { fields: ['tokenHash'], unique: true },
    { fields: ['hookHash'], unique: true },
  ],
};
export const formTallyCollection: CollectionSpec<FormTally> = { name: 'form_tallies', indexes: [] };
export const submissionCollection: CollectionSpec<Submission> = {
  name: 'form_submissions',
  indexes: [{ fields: ['formId', 'number'] }],
};
export const responseClaimCollection: CollectionSpec<ResponseClaim> = {
  name: 'form_claims',
  indexes: [{ fields: ['formId'] }],
};

/** The collections that forms use. */
/** The collections of forms that no queue opens. */
export const FORM_RECORDS = {
  forms: formCollection,
  tallies: formTallyCollection,
  submissions: submissionCollection,
  claims: responseClaimCollection,
  captchas: spentCaptchaCollection,
};

/** The collections of forms. */
export interface FormStores extends Collections<typeof FORM_RECORDS> {
  readonly attempts: Collection<FileAttempt>;
}

export const submissionKey = (formId: string, submissionId: string): string => `${formId}.${submissionId}`;

/** Returns those of a form's submissions that exist. */
export async function submissionsOf(
  { submissions }: Pick<FormStores, 'submissions'>,
  formId: string,
  submissionIds: readonly string[],
): Promise<Submission[]> {
  return submissionIds.length === 0 ? [] : submissions.getMany(submissionIds.map((id) => submissionKey(formId, id)));
}

export async function formOf(
  { forms }: Pick<FormStores, 'forms'>,
  resourceId: string,
): Promise<FormRecord | undefined> {
  const [form] = await forms.find({ where: { resourceId }, limit: 1 });
  return form;
}

/** Finds the form to which one of several hashes of a token belongs. */
export type FindForm = (field: 'tokenHash' | 'hookHash', hashes: readonly string[]) => Promise<FormRecord | undefined>;

/**
 * Maximum number of tokens whose form is cached. A token may have changed since, so the form record is always read and
 * compared.
 */
const MAX_CACHED_TOKENS = 10_000;

export function createFormFinder({ forms }: Pick<FormStores, 'forms'>): FindForm {
  const known = new LRUCache<string, string>(maxEntries(MAX_CACHED_TOKENS));
  return async (field, hashes) => {
    const key = `${field} ${hashes[0]}`;
    const id = known.get(key);
    const held = id === undefined ? undefined : await forms.get(id);
    if (held !== undefined && hashes.includes(held[field])) return held;
    const [form] = await forms.find({ where: { [field]: { in: hashes } }, limit: 1 });
    if (form !== undefined) known.set(key, form.id);
    return form;
  };
}
