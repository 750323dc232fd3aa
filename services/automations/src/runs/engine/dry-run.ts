import { fingerprint } from '@commonplace/kit/id';
import { checkConfig } from '../../definitions/config-check.js';
import { withTexts } from '../../definitions/config-texts.js';
import { takesUrl } from '../../definitions/fill-in.js';
import type { AutomationRecord, StoredAction, StoredCondition } from '../../definitions/records.js';
import { conditionsHold, pathsOf } from '../../domain/conditions.js';
import { renderTemplates, type Scope } from '../../domain/templates.js';
import type { Config } from '../actions/action.js';
import { targetOf } from '../actions/flow.js';
import { actionErrorOf, failureOf } from '../failure.js';
import { keepValue } from '../json.js';
import type { RunParts } from '../parts.js';
import { type AutomationRunRecord, type RunFailure, type StepRecord, stepId } from '../records.js';
import { factsOf } from '../scope.js';
import { maskedSecrets } from '../secrets.js';

type NewStep = Omit<StepRecord, 'version'>;

/**
 * Returns the steps that a run would have, without executing them. Texts that depend on outputs of other steps keep
 * their templates.
 */
export function dryRunSteps(
  { now }: Pick<RunParts, 'now'>,
  run: AutomationRunRecord,
  actions: readonly StoredAction[],
  scope: Scope,
  automation: AutomationRecord | undefined,
): NewStep[] {
  const steps: NewStep[] = [];
  const add = ({ id: actionId, type }: StoredAction, more: Partial<NewStep>) => {
    const seq = steps.length;
    const about = { id: stepId(run.id, seq), tenant: run.tenant, runId: run.id, seq, actionId, type };
    const key = fingerprint('automation step', run.id, actionId);
    const none = { attempt: 0, failures: 0, truncated: false, key, startedAt: new Date(now()).toISOString() };
    steps.push({ ...about, ...none, status: 'planned', ...more });
  };
  for (let at = 0; at < actions.length; ) {
    const action = actions[at] as StoredAction;
    const { input, error } = inputOf(action, scope, automation);
    const holds = action.type === 'condition' ? conditionHolds(action, run, scope) : undefined;
    const { value, truncated } = keepValue(input);
    add(action, { input: value, truncated, error, ...(holds !== undefined && { output: { holds } }) });
    const target = holds === false ? targetOf(action.config.else) : undefined;
    if (action.type === 'stop' || (holds === false && target === undefined)) break;
    const next = target === undefined ? at + 1 : actions.findIndex(({ id }, index) => index > at && id === target);
    if (next < 0) break;
    for (const skipped of actions.slice(at + 1, next)) add(skipped, { status: 'skipped' });
    at = next;
  }
  return steps;
}

/** Returns whether the conditions of an action hold; null if they depend on outputs of other steps. */
function conditionHolds({ config }: StoredAction, run: AutomationRunRecord, scope: Scope): boolean | null {
  const conditions = config.conditions as readonly StoredCondition[];
  if (pathsOf(conditions).some(([first]) => first === 'steps')) return null;
  return conditionsHold(conditions, factsOf(run, scope));
}

function inputOf(
  action: StoredAction,
  scope: Scope,
  automation: AutomationRecord | undefined,
): { readonly input: unknown; readonly error?: RunFailure } {
  const all = action.type === 'http_request' ? { ...scope, secrets: maskedSecrets(automation) } : scope;
  let error: RunFailure | undefined;
  const fill = (value: unknown, isUrl = false): unknown => {
    if (Array.isArray(value)) return value.map((item) => fill(item));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]));
    }
    if (typeof value !== 'string') return value;
    try {
      return renderTemplates(value, all, { isUrl: () => isUrl });
    } catch (thrown) {
      if (!/\{\{\s*steps[.[]/.test(value)) error ??= failureOf(actionErrorOf(thrown), action.id);
      return value;
    }
  };
  const filled = Object.entries(action.config).map(([name, value]) => [name, fill(value, takesUrl(action.type, name))]);
  const input = withTexts(action.type, Object.fromEntries(filled) as Config);
  const [fault] = checkConfig(action.type, input);
  if (error === undefined && fault !== undefined) {
    error = { code: fault.code, message: fault.message, actionId: action.id, retryable: false };
  }
  return error === undefined ? { input } : { input, error };
}
