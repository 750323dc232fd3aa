import {
  FormClosed,
  FormInactive,
  FormUnanswerable,
  ResourceLocked,
  SubmissionLimitReached,
  WorkspaceArchived,
} from '../errors.js';
import { type Binding, isAnswerable } from './columns.js';
import type { FormRecord, FormTally } from './records.js';

/** Why a form accepts no submissions at the moment; `unanswerable` if no column takes the values of any field. */
export type ClosedBy = 'inactive' | 'closed' | 'full' | 'unanswerable' | 'archived' | 'locked';

interface FormState {
  readonly form: Pick<FormRecord, 'isActive' | 'config'>;
  readonly tally: Pick<FormTally, 'count'> | undefined;
  readonly binding: Binding;
  readonly archived: boolean;
  readonly locked: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Returns why a form accepts no submissions; undefined if it is open. */
export function closedBy({ form, tally, binding, archived, locked, now }: FormState): ClosedBy | undefined {
  const { close_at: closeAt, max_submissions: maxSubmissions } = form.config;
  if (!form.isActive) return 'inactive';
  if (closeAt !== undefined && Date.parse(closeAt) <= now) return 'closed';
  if (maxSubmissions !== undefined && (tally?.count ?? 0) >= maxSubmissions) return 'full';
  if (!isAnswerable(binding)) return 'unanswerable';
  if (archived) return 'archived';
  return locked ? 'locked' : undefined;
}

const REFUSALS: Readonly<Record<ClosedBy, () => Error>> = {
  inactive: () => FormInactive(),
  closed: () => FormClosed(),
  full: () => SubmissionLimitReached(),
  unanswerable: () => FormUnanswerable(),
  archived: () => WorkspaceArchived(),
  locked: () => ResourceLocked(),
};

/** Returns the error for a submission to a form that accepts none. */
export const refusalOf = (by: ClosedBy): Error => REFUSALS[by]();
