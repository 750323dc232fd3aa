import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import { WorkspaceArchived } from '../errors.js';
import { type Asking, mayAdminister, mayEdit, type Place, readPlace } from '../policy.js';
import type { DefinitionParts } from './parts.js';
import type { AutomationRecord } from './records.js';

type AccessParts = Pick<DefinitionParts, 'automations' | 'memberships' | 'peers'>;

/** An automation as a caller reaches it. */
export interface AutomationAccess {
  readonly automation: AutomationRecord;
  readonly place: Place;
  /** The caller may change it: who has created it, as long as they edit the workspace, and its administrators. */
  readonly isManager: boolean;
}

/** Returns whether somebody with a role in the workspace may change an automation of it. */
export function manages(
  place: Pick<Place, 'role'>,
  automation: Pick<AutomationRecord, 'creatorId'>,
  userId: string,
): boolean {
  return mayAdminister(place) || (mayEdit(place) && automation.creatorId === userId);
}

/** Returns an automation that the caller reads. Throws `NotFound`, and the error for a credential that does not reach it. */
export async function seeAutomation(parts: AccessParts, id: string, asking: Asking): Promise<AutomationAccess> {
  const automation = await parts.automations.get(id);
  if (automation === undefined) throw NotFound();
  const place = await readPlace(parts, automation.workspaceId, asking);
  return { automation, place, isManager: manages(place, automation, asking.caller.userId) };
}

/** Returns an automation that the caller may change. Throws as `seeAutomation`, `InsufficientRole`, `workspace_archived`. */
export async function openAutomation(parts: AccessParts, id: string, asking: Asking): Promise<AutomationAccess> {
  const access = await seeAutomation(parts, id, asking);
  if (!access.isManager) throw InsufficientRole();
  if (access.place.archived) throw WorkspaceArchived();
  return access;
}
