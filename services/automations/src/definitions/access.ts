import { InsufficientRole, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import { type Asking, mayAdminister, mayEdit, type Place, readPlace } from '../policy.js';
import type { DefinitionParts } from './parts.js';
import type { AutomationRecord } from './records.js';

type AccessParts = Pick<DefinitionParts, 'automations' | 'memberships' | 'peers'>;

/** An automation, and what the caller may do with it. */
interface AutomationAccess {
  readonly automation: AutomationRecord;
  readonly place: Place;
  /**
   * Whether the caller may change it: administrators of the workspace may, and its creator as long as they can edit the
   * workspace.
   */
  readonly isManager: boolean;
}

/** Returns whether a person with a role in the workspace may change one of its automations. */
export function manages(
  place: Pick<Place, 'role'>,
  automation: Pick<AutomationRecord, 'creatorId'>,
  userId: string,
): boolean {
  return mayAdminister(place) || (mayEdit(place) && automation.creatorId === userId);
}

/**
 * Returns an automation that the caller can read. Throws `NotFound`, or the error for a credential that does not reach
 * it.
 */
export async function seeAutomation(parts: AccessParts, id: string, asking: Asking): Promise<AutomationAccess> {
  const automation = await parts.automations.get(id);
  if (automation === undefined) throw NotFound();
  const place = await readPlace(parts, automation.workspaceId, asking);
  return { automation, place, isManager: manages(place, automation, asking.caller.userId) };
}

/**
 * Returns an automation that the caller may change. Throws the errors of `seeAutomation`, `InsufficientRole` and
 * `workspace_archived`.
 */
export async function openAutomation(parts: AccessParts, id: string, asking: Asking): Promise<AutomationAccess> {
  const access = await seeAutomation(parts, id, asking);
  if (!access.isManager) throw InsufficientRole();
  if (access.place.archived) throw WorkspaceArchived();
  return access;
}
