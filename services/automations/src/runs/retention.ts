import type { Settings } from '../config.js';
import type { Definition } from '../definitions/records.js';
import { longestRunDays } from '../definitions/versions.js';

const DAY_MS = 86_400_000;

/** Returns until when a run that ends now is kept, with its steps. */
export const deleteAfter = ({ runDays }: Pick<Settings, 'runDays'>, now: number): string =>
  new Date(now + runDays * DAY_MS).toISOString();

/** Returns until when a step that begins now is kept: at least as long as its run, however long that takes. */
export const deleteStepAfter = (settings: Pick<Settings, 'runDays'>, definition: Definition, now: number): string =>
  new Date(now + (settings.runDays + longestRunDays(definition) + 1) * DAY_MS).toISOString();
