import type { Quota } from '@commonplace/kit/quota';
import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { Shared } from '../parts.js';
import type { AutomationRecord, DefinitionRecord } from './records.js';

/** How the runs of an automation stand. */
export interface RunSummary {
  /** Runs in a row that have failed. */
  readonly failureCount: number;
  readonly lastRun?: { readonly id: string; readonly status: string; readonly at: string } | undefined;
}

/** What definitions need of the runs. */
export interface RunsOfAutomations {
  /** Returns how the runs of automations stand, by the id of the automation; those that never ran are left out. */
  summaries(automationIds: readonly string[]): Promise<ReadonlyMap<string, RunSummary>>;
  /** Marks the runs that wait behind others as skipped, in the unit that switches the automation off or deletes it. */
  skipQueued(work: UnitOfWork, automation: Pick<AutomationRecord, 'id'>): Promise<void>;
  /** Forgets the failures in a row, in the unit that switches the automation on. */
  resetFailures(work: UnitOfWork, automation: Pick<AutomationRecord, 'id'>): Promise<void>;
}

export interface DefinitionParts extends Pick<Shared, 'settings' | 'memberships' | 'guard' | 'envelope' | 'now'> {
  readonly peers: Pick<Shared['peers'], 'directory' | 'index'>;
  readonly automations: Collection<AutomationRecord>;
  readonly definitions: Collection<DefinitionRecord>;
  readonly quota: Quota;
  readonly runs: RunsOfAutomations;
}
