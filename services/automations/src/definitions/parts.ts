import type { Quota } from '@commonplace/kit/quota';
import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { Shared } from '../parts.js';
import type { AutomationRecord, DefinitionRecord } from './records.js';

/** The state of an automation's runs. */
export interface RunSummary {
  /** Number of consecutive failed runs. */
  readonly failureCount: number;
  readonly lastRun?: { readonly id: string; readonly status: string; readonly at: string } | undefined;
}

/** The operations on runs that definitions need. */
export interface RunsOfAutomations {
  /** Returns the summaries by automation id; automations that have never run are left out. */
  summaries(automationIds: readonly string[]): Promise<ReadonlyMap<string, RunSummary>>;
  /** Marks the waiting runs to be skipped, in the unit of work that switches the automation off or deletes it. */
  skipQueued(work: UnitOfWork, automation: Pick<AutomationRecord, 'id'>): Promise<void>;
  /** Resets the number of consecutive failures, in the unit of work that switches the automation on. */
  resetFailures(work: UnitOfWork, automation: Pick<AutomationRecord, 'id'>): Promise<void>;
}

export interface DefinitionParts extends Pick<Shared, 'settings' | 'memberships' | 'guard' | 'envelope' | 'now'> {
  readonly peers: Pick<Shared['peers'], 'content' | 'directory' | 'index'>;
  readonly automations: Collection<AutomationRecord>;
  readonly definitions: Collection<DefinitionRecord>;
  readonly quota: Quota;
  readonly runs: RunsOfAutomations;
}
