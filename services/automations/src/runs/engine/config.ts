import { checkConfig } from '../../definitions/config-check.js';
import { fillIn } from '../../definitions/fill-in.js';
import type { AutomationRecord, StoredAction } from '../../definitions/records.js';
import type { Scope } from '../../domain/templates.js';
import type { Config } from '../actions/action.js';
import { ActionError, actionErrorOf } from '../failure.js';
import { maskedSecrets } from '../secrets.js';

/**
 * Returns an action's config with its templates filled in and secrets masked, or the error why it cannot be filled in.
 */
export function filledIn(
  { type, config }: StoredAction,
  scope: Scope,
  automation: AutomationRecord | undefined,
): Config | ActionError {
  const all = type === 'http_request' ? { ...scope, secrets: maskedSecrets(automation) } : scope;
  try {
    return fillIn(type, config, all);
  } catch (error) {
    return actionErrorOf(error);
  }
}

/** Throws if the rendered config does not fit the type of the action. */
export function requireValid({ type }: StoredAction, config: Config): void {
  const [fault] = checkConfig(type, config);
  if (fault !== undefined) throw new ActionError(fault.code, fault.message);
}
