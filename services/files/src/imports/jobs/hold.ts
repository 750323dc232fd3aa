import type { HeldJob } from '@commonplace/kit/jobs';
import type { ImportRecord } from '../stores/records.js';

/** A job of an import that this worker holds. */
export type Hold = HeldJob<ImportRecord>;
