import { FormClosed, FormInactive, ResourceLocked, SubmissionLimitReached, WorkspaceArchived } from '../errors.js';
import type { FormRecord, FormTally } from '../stores/forms.js';

/** Why a form takes no submissions now. */
export type ClosedBy = 'inactive' | 'closed' | 'full' | 'archived' | 'locked';

export interface FormState {
  readonly form: Pick<FormRecord, 'isActive' | 'config'>;
  readonly tally: Pick<FormTally, 'count'> | undefined;
  readonly archived: boolean;
  readonly locked: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Undefined where a form is open. */
export function closedBy({ form, tally, archived, locked, now }: FormState): ClosedBy | undefined {
  const { close_at: closeAt, max_submissions: most } = form.config;
  if (!form.isActive) return 'inactive';
  if (closeAt !== undefined && Date.parse(closeAt) <= now) return 'closed';
  if (most !== undefined && (tally?.count ?? 0) >= most) return 'full';
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

/** The refusal of a form that takes no submissions. */
export const refusalOf = (by: ClosedBy): Error => REFUSALS[by]();
