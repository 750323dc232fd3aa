import type { Collection } from '@commonplace/kit/store';
import type { AutomationRecord, DefinitionRecord } from '../definitions/records.js';
import type { Shared } from '../parts.js';
import type { AutomationRunRecord, LaneRecord, StepRecord } from './records.js';

/** Dependencies of the engine of runs. */
export interface RunParts extends Shared {
  readonly runs: Collection<AutomationRunRecord>;
  readonly steps: Collection<StepRecord>;
  readonly lanes: Collection<LaneRecord>;
  readonly automations: Collection<AutomationRecord>;
  readonly definitions: Collection<DefinitionRecord>;
}
