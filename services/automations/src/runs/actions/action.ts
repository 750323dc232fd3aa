import { jsonBytes } from '@commonplace/kit/json';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { AutomationRecord, StoredAction } from '../../definitions/records.js';
import type { Facts } from '../../domain/conditions.js';
import type { Scope } from '../../domain/templates.js';
import type { RunParts } from '../parts.js';
import type { AutomationRunRecord, StepRecord, Taint } from '../records.js';
import type { RunRights } from '../rights.js';

export type Config = Readonly<Record<string, unknown>>;

/** The input of an action. */
export interface ActionContext {
  readonly run: AutomationRunRecord;
  readonly step: StepRecord;
  readonly action: StoredAction;
  /** The current record of the automation; undefined if it was deleted. */
  readonly automation: AutomationRecord | undefined;
  /** The action's config with its templates filled in, without secrets. */
  readonly config: Config;
  /** The data that templates read, without secrets. */
  readonly scope: Scope;
  readonly facts: Facts;
  /** Whether an earlier attempt was interrupted, so that it may have taken effect. */
  readonly isResumed: boolean;
  /** Aborts when the run ends or its worker stops. */
  readonly signal: AbortSignal;
  readonly rights: RunRights;
  /** Returns the options of a call with the rights of the run. */
  options(timeoutMs?: number): Promise<CallOptions>;
  /** Makes a call that changes something. It takes effect once, even if several attempts at the step make it. */
  change<T>(send: (options: CallOptions) => Promise<T>): Promise<T>;
}

export type ActionResult =
  | {
      readonly kind: 'done';
      readonly output: unknown;
      /** The id of the action to continue with, instead of the next one. */
      readonly goTo?: string;
      readonly taints?: readonly Taint[];
      /** Additional writes for the unit of work that stores the output. */
      readonly also?: (work: UnitOfWork) => void;
    }
  /** The run ends. */
  | {
      readonly kind: 'end';
      readonly output: unknown;
      readonly status: 'completed' | 'failed';
      readonly message?: string | undefined;
    }
  /** The run continues at a time and needs no worker until then; its time limit is suspended. */
  | { readonly kind: 'delay'; readonly until: number }
  /** The run continues when the run of an agent has ended and needs no worker until then. */
  | { readonly kind: 'agent'; readonly agentRunId: string; readonly awaitsApproval: boolean };

export interface Action {
  run(context: ActionContext): Promise<ActionResult>;
  /** Cancels what an earlier attempt has left running, when the run ends. */
  cancel?(step: StepRecord, reason: string): Promise<void>;
}

export type ActionParts = Pick<
  RunParts,
  'peers' | 'guard' | 'envelope' | 'memberships' | 'systemCall' | 'now' | 'log' | 'settings'
>;

export const done = (output: unknown): ActionResult => ({ kind: 'done', output });

/** Returns the config fields that are present, under their names in the contract. */
export function given(config: Config, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([field, name]) => {
      const value = config[field];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
}

/** Returns the config fields that are present as JSON bytes, under their names in the contract. */
export function givenJson(config: Config, names: Readonly<Record<string, string>>): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(given(config, names)).map(([name, value]) => [name, jsonBytes(value)]));
}

/** Returns the contract's enum value for a name in the API; undefined if the config has none. */
export function enumIn<E extends string>(values: Readonly<Record<string, E>>, name: unknown): E | undefined {
  return typeof name === 'string' ? values[name.toUpperCase()] : undefined;
}
