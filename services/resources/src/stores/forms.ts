import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { LRUCache } from 'lru-cache';
import type { FormConfig } from '../forms/config.js';

/** The collection form of a table. */
export interface FormRecord extends StoredRecord {
  readonly tenant: string;
  /** The table; one form of each. */
  readonly resourceId: string;
  readonly config: FormConfig;
  readonly isActive: boolean;
  /** Keyed hashes of the tokens, and the tokens themselves, sealed for this record. */
  readonly tokenHash: string;
  readonly tokenSealed: string;
  readonly hookHash: string;
  readonly hookSealed: string;
  readonly createdBy: Actor;
  /** The person who made it: files that are handed in are theirs. */
  readonly createdById: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** How much was submitted; under the form's id, so that a submission does not change the form itself. */
export interface FormTally extends StoredRecord {
  readonly tenant: string;
  readonly count: number;
  readonly lastSubmittedAt: string;
}

/** A submission, under `<form>.<submission id>`. What was answered is in its row alone. */
export interface Submission extends StoredRecord {
  readonly tenant: string;
  readonly formId: string;
  readonly submissionId: string;
  readonly rowId: string;
  /** Counts the form's submissions from 1, without a gap. */
  readonly number: number;
  readonly submittedAt: string;
  /** JSON text of what the client said about itself. */
  readonly metadata?: string;
}

/** Somebody's one response, under `<form>.<who>`. */
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

/** The records of forms. */
export interface FormStores {
  readonly forms: Collection<FormRecord>;
  readonly tallies: Collection<FormTally>;
  readonly submissions: Collection<Submission>;
  readonly claims: Collection<ResponseClaim>;
}

export const submissionKey = (formId: string, submissionId: string): string => `${formId}.${submissionId}`;

/** Those of some submissions of a form that are there. */
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

/** Finds the form that one of some hashes of a token stands for. */
export type FindForm = (field: 'tokenHash' | 'hookHash', hashes: readonly string[]) => Promise<FormRecord | undefined>;

/** Which form a token led to last; a token may be another's by now, or nobody's, so that the form itself is asked. */
const KNOWN_TOKENS = 10_000;

export function createFormFinder({ forms }: Pick<FormStores, 'forms'>): FindForm {
  const known = new LRUCache<string, string>({ max: KNOWN_TOKENS });
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
