import { type AutomationRecord, type Definition, definitionId } from '../definitions/records.js';
import type { RunParts } from './parts.js';
import type { AutomationRunRecord } from './records.js';

/** Returns the definition that a run was triggered with; undefined if it has expired. */
export async function versionOf(
  { definitions }: Pick<RunParts, 'definitions'>,
  { automationId, definitionVersion }: Pick<AutomationRunRecord, 'automationId' | 'definitionVersion'>,
  automation: AutomationRecord | undefined,
): Promise<Definition | undefined> {
  if (automation?.definitionVersion === definitionVersion) return automation.definition;
  return (await definitions.get(definitionId(automationId, definitionVersion)))?.definition;
}
