import type { Collection } from '@commonplace/kit/store';
import type { CopyParts } from '../copies/parts.js';
import type { Template } from './records.js';

/** Holds what templates depend on. */
export interface TemplateParts extends CopyParts {
  readonly templates: Collection<Template>;
}
