import type { Collection } from '@commonplace/kit/store';
import type { AutomationRecord, DefinitionRecord } from '../definitions/records.js';
import type { Shared } from '../parts.js';
import type { AutomationRunRecord, LaneRecord, StepRecord } from './records.js';

/** What the engine of runs works with. */
export interface RunParts extends Shared {
  readonly runs: Collection<AutomationRunRecord>;
  readonly steps: Collection<StepRecord>;
  readonly lanes: Collection<LaneRecord>;
  readonly automations: Collection<AutomationRecord>;
  readonly definitions: Collection<DefinitionRecord>;
}
