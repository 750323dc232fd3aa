import type { Caller } from '@commonplace/kit/auth';
import type { TermsCache } from '../terms.js';
import type { TreeParts } from '../tree/parts.js';
import type { Forms } from './open-forms.js';

/** Holds what forms depend on. */
export interface FormParts extends TreeParts {
  readonly forms: Forms;
  readonly terms: TermsCache;
  /** Verifies a caller token and returns the caller that it names. */
  readonly verifyCaller: (token: string) => Caller | Promise<Caller>;
}
