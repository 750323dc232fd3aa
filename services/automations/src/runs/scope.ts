import { isObject } from '@commonplace/kit/json';
import type { Facts } from '../domain/conditions.js';
import type { Scope } from '../domain/templates.js';
import type { AutomationRunRecord, StepRecord } from './records.js';

/** The result of a step that templates can read. */
export interface SeenStep {
  readonly status: StepRecord['status'];
  readonly output?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Returns the data for templates and conditions of a run: its trigger, and its steps by action id. */
export function scopeOf(
  { trigger, input = {}, data = {} }: AutomationRunRecord,
  steps: Readonly<Record<string, SeenStep>>,
): Scope {
  const { type, by } = trigger;
  const about = { type, by: { type: by.type, id: by.id, name: by.name }, input: {} };
  const scheduled = trigger.scheduleId === undefined ? {} : { schedule: scheduleOf(trigger) };
  return { trigger: { ...about, ...scheduled, ...input, ...data }, steps };
}

const scheduleOf = ({ scheduleId, scheduledFor = '' }: AutomationRunRecord['trigger']) => ({
  id: scheduleId,
  scheduled_for: scheduledFor,
});

/** Returns the results of the ended steps for templates. */
export function seenSteps(steps: readonly StepRecord[]): Record<string, SeenStep> {
  const ended = steps.filter(({ status }) => status !== 'running' && status !== 'waiting' && status !== 'skipped');
  return Object.fromEntries(
    ended.map(({ actionId, status, output, error }) => [
      actionId,
      status === 'completed'
        ? { status, output: output ?? null }
        : { status, error: { code: error?.code ?? '', message: error?.message ?? '' } },
    ]),
  );
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the data for evaluating conditions. For something newly created all fields count as changed. */
export function factsOf(run: AutomationRunRecord, scope: Scope): Facts {
  const { event } = run.input ?? {};
  const { type, data } = isObject(event) ? event : { type: '', data: {} };
  const trigger = isObject(scope.trigger) ? scope.trigger : {};
  const fields = listOf(isObject(data) ? data.changed_fields : []).map(String);
  const columns = listOf(isObject(trigger.row) ? trigger.row.changed_columns : []).filter(isObject);
  const changed = new Set([...fields, ...columns.map(({ name }) => String(name))]);
  const isNew = /\.(created|submitted)$/.test(String(type));
  const tags = isObject(trigger.resource) && Array.isArray(trigger.resource.tags) ? trigger.resource.tags : [];
  const names = new Map(tags.filter(isObject).map(({ id, name }) => [String(id), String(name)]));
  return { scope, hasChanged: (field) => isNew || changed.has(field), tagName: (id) => names.get(id) };
}
