import type { UnitOfWork } from '@commonplace/kit/store';
import { MAX_DELAY_SECONDS } from './actions.js';
import type { DefinitionParts } from './parts.js';
import { type AutomationRecord, type Definition, definitionId } from './records.js';

const DAY_MS = 86_400_000;
/** Maximum number of days that a run of an agent may take. */
const AGENT_RUN_DAYS = 45;
/** Number of days that a run may wait for earlier runs before it begins. */
const QUEUE_DAYS = 30;

/** Writes the current definition of an automation, in the unit of work that writes the automation's record. */
export function writeDefinition(
  { definitions }: Pick<DefinitionParts, 'definitions'>,
  automation: AutomationRecord,
  work: UnitOfWork,
): void {
  const { id, tenant, definition, definitionVersion } = automation;
  work.insert(definitions, { id: definitionId(id, definitionVersion), tenant, automationId: id, definition });
}

/** Lets the previous definition of an automation expire once no run can need it any more. */
export async function retireDefinition(
  { definitions, settings, now }: Pick<DefinitionParts, 'definitions' | 'settings' | 'now'>,
  { id, definition, definitionVersion }: AutomationRecord,
  work: UnitOfWork,
): Promise<void> {
  const record = await work.get(definitions, definitionId(id, definitionVersion));
  if (record === undefined) return;
  const days = QUEUE_DAYS + maxRunDays(definition) + settings.automationRunDays;
  work.replace(definitions, record, { ...record, deleteAt: new Date(now() + days * DAY_MS).toISOString() });
}

/** Returns the maximum number of days of one run: its time limit, its delays, and the agent runs that it waits for. */
export function maxRunDays({ actions, timeoutSeconds }: Definition): number {
  const waits = actions.map(({ type, config }) => {
    if (type === 'run_agent') return AGENT_RUN_DAYS;
    if (type !== 'delay') return 0;
    const seconds = typeof config.seconds === 'number' ? config.seconds : MAX_DELAY_SECONDS;
    return seconds / 86_400;
  });
  return Math.ceil(waits.reduce((sum, days) => sum + days, timeoutSeconds / 86_400));
}
