import { FormClosed, FormInactive, ResourceLocked, SubmissionLimitReached, WorkspaceArchived } from '../errors.js';
import type { FormRecord, FormTally } from './records.js';

/** Why a form accepts no submissions at the moment. */
export type ClosedBy = 'inactive' | 'closed' | 'full' | 'archived' | 'locked';

interface FormState {
  readonly form: Pick<FormRecord, 'isActive' | 'config'>;
  readonly tally: Pick<FormTally, 'count'> | undefined;
  readonly archived: boolean;
  readonly locked: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Returns why a form accepts no submissions; undefined if it is open. */
export function closedBy({ form, tally, archived, locked, now }: FormState): ClosedBy | undefined {
  const { close_at: closeAt, max_submissions: maxSubmissions } = form.config;
  if (!form.isActive) return 'inactive';
  if (closeAt !== undefined && Date.parse(closeAt) <= now) return 'closed';
  if (maxSubmissions !== undefined && (tally?.count ?? 0) >= maxSubmissions) return 'full';
  if (archived) return 'archived';
  return locked ? 'locked' : undefined;
}

const REFUSALS: Readonly<Record<ClosedBy, () => Error>> = {
  inactive: () => FormInactive(),
  closed: () => FormClosed(),
  full: () => SubmissionLimitReached(),
  archived: () => WorkspaceArchived(),
  locked: () => ResourceLocked(),
};

/** Returns the error for a submission to a form that accepts none. */
export const refusalOf = (by: ClosedBy): Error => REFUSALS[by]();
