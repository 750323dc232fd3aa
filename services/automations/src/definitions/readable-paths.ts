import { ACTIONS } from './actions.js';
import type { ActionType, StoredAction, TriggerType } from './records.js';

/** The fields of an earlier action that a template can read. */
const STEP_FIELDS = ['output', 'status', 'error'];
const ERROR_FIELDS = ['code', 'message'];

/** What `trigger` has in every run: one on request and one by a schedule begin without an event. */
const OF_EVERY_TRIGGER = ['type', 'by', 'input', 'schedule'];
const OF_AN_EVENT = ['event', 'resource', 'row', 'message', 'work_item', 'form'];

const OF_TRIGGERS: Readonly<Record<TriggerType, readonly string[]>> = {
  manual: [],
  schedule: [],
  webhook: ['webhook'],
  event: OF_AN_EVENT,
  form_submission: ['event', 'resource', 'row', 'form'],
  row_created: ['event', 'resource', 'row'],
  row_updated: ['event', 'resource', 'row'],
  work_item_changed: ['event', 'work_item'],
};

/** Returns why no action can read a path of an earlier one, as a sentence without its subject; undefined if it can. */
export function stepPathFault(
  [, name = '', field = '', inner]: readonly string[],
  earlier: readonly Pick<StoredAction, 'id' | 'type'>[],
): string | undefined {
  const type = earlier.find(({ id }) => id === name)?.type;
  if (type === undefined) return `names ${name || 'no action'}, which is not an earlier action.`;
  if (!STEP_FIELDS.includes(field)) {
    return 'reads of an action what it does not have: output, status and error are there.';
  }
  return inner === undefined ? undefined : innerFault(type, field, inner);
}

function innerFault(type: ActionType, field: string, inner: string): string | undefined {
  if (field === 'status') return 'reads a field of a status, which is a text.';
  const known = field === 'error' ? ERROR_FIELDS : ACTIONS[type].output;
  if (known.includes(inner)) return undefined;
  return `reads ${inner}, which is not in the ${field} of ${type}. It has ${known.join(', ')}.`;
}

/** Returns why no run has a path of its trigger, as a sentence without its subject; undefined if a run may have it. */
export function triggerPathFault([, name]: readonly string[], type: TriggerType): string | undefined {
  const known = [...OF_EVERY_TRIGGER, ...OF_TRIGGERS[type]];
  if (name === undefined || known.includes(name)) return undefined;
  return `reads ${name}, which the trigger ${type} does not have. It has ${known.join(', ')}.`;
}
