import type { Settings } from '../config.js';
import type { Definition } from '../definitions/records.js';
import { maxRunDays } from '../definitions/versions.js';

const DAY_MS = 86_400_000;

/** Returns when a run that ends now expires. */
export const deleteAfter = ({ automationRunDays: days }: Pick<Settings, 'automationRunDays'>, now: number): string =>
  new Date(now + days * DAY_MS).toISOString();

/** Returns when a step that begins now expires: not before its run, even if the run takes as long as it can. */
export const deleteStepAfter = (
  settings: Pick<Settings, 'automationRunDays'>,
  definition: Definition,
  now: number,
): string => new Date(now + (settings.automationRunDays + maxRunDays(definition) + 1) * DAY_MS).toISOString();
