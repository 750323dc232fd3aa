import type { CallOptions } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { AutomationRecord, StoredAction } from '../../definitions/records.js';
import type { Facts } from '../../domain/conditions.js';
import type { Scope } from '../../domain/templates.js';
import type { RunParts } from '../parts.js';
import type { AutomationRunRecord, StepRecord, Taint } from '../records.js';

export type Config = Readonly<Record<string, unknown>>;

/** What an action works with. */
export interface ActionContext {
  readonly run: AutomationRunRecord;
  readonly step: StepRecord;
  readonly action: StoredAction;
  /** The automation as it is now; undefined once it has been deleted. */
  readonly automation: AutomationRecord | undefined;
  /** The action's config with its templates filled in, without secrets. */
  readonly config: Config;
  /** What templates are filled in from, without secrets. */
  readonly scope: Scope;
  readonly facts: Facts;
  /** Whether an earlier attempt was cut off, so that it may or may not have taken effect. */
  readonly isResumed: boolean;
  /** Aborts when the run ends or its worker stops. */
  readonly signal: AbortSignal;
  /** Returns the options of a call with the rights of the run. */
  options(timeoutMs?: number): Promise<CallOptions>;
  /** Makes a call that changes something, which takes effect once over all attempts at the step. */
  change<T>(send: (options: CallOptions) => Promise<T>): Promise<T>;
}

export type ActionResult =
  | {
      readonly kind: 'done';
      readonly output: unknown;
      /** The action that comes next, instead of the one behind it. */
      readonly goTo?: string;
      readonly taints?: readonly Taint[];
      /** Writes in the unit that stores the output. */
      readonly also?: (work: UnitOfWork) => void;
    }
  /** Ends the run. */
  | {
      readonly kind: 'end';
      readonly output: unknown;
      readonly status: 'completed' | 'failed';
      readonly message?: string | undefined;
    }
  /** Goes on at a time, and until then without a worker; the run's clock stops. */
  | { readonly kind: 'delay'; readonly until: number }
  /** Goes on when the run of an agent has ended, and until then without a worker. */
  | { readonly kind: 'agent'; readonly agentRunId: string; readonly awaitsApproval: boolean };

export interface Action {
  run(context: ActionContext): Promise<ActionResult>;
  /** Gives up what an earlier attempt has left running, when the run ends. */
  cancel?(step: StepRecord, reason: string): Promise<void>;
}

export type ActionParts = Pick<RunParts, 'peers' | 'guard' | 'envelope' | 'memberships' | 'systemCall' | 'now' | 'log'>;

export const done = (output: unknown): ActionResult => ({ kind: 'done', output });

export const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Returns the fields of a config that are there, under the names of the contract. */
export function given(config: Config, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([field, name]) => {
      const value = config[field];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
}

/** Returns the fields of a config that are there as JSON bytes. */
export function givenJson(config: Config, names: Readonly<Record<string, string>>): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(given(config, names)).map(([name, value]) => [name, jsonBytes(value)]));
}

/** Returns a value of a contract's enum by its name in the API; undefined where the config has none. */
export function enumIn<E extends string>(values: Readonly<Record<string, E>>, name: unknown): E | undefined {
  return typeof name === 'string' ? values[name.toUpperCase()] : undefined;
}
