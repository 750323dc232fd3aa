import type { Collections } from '@commonplace/kit/store';
import { automationCollection, definitionCollection } from '../definitions/records.js';
import type { Shared } from '../parts.js';
import { laneCollection, runCollection, stepCollection } from './records.js';

/** The collections that runs read and write. */
export const RUN_RECORDS = {
  runs: runCollection,
  steps: stepCollection,
  lanes: laneCollection,
  automations: automationCollection,
  definitions: definitionCollection,
};

/** Dependencies of the engine of runs. */
export interface RunParts extends Shared, Collections<typeof RUN_RECORDS> {}
