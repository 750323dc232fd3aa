import type { CallOptions } from '@commonplace/kit/rpc';
import { createActAs, isAccessLost } from '@commonplace/platform/acting';
import type { ActAsRequest } from '@commonplace/proto/identity/v1/auth_service.js';
import { isHidden, WorkspaceHidden } from '../hidden-workspaces.js';
import { mayRead } from '../policy.js';
import { permissionLost, RunError } from './failure.js';
import { chainOf } from './finished-event.js';
import type { RunParts } from './parts.js';
import type { AutomationRunRecord } from './records.js';
import type { RunRights } from './rights.js';

type ActingParts = Pick<RunParts, 'memberships' | 'peers' | 'systemCall' | 'now'>;

/**
 * Returns the options of a call with the rights of a run, with a deadline after `timeoutMs`. It checks the access of the
 * person, and of the author of the automation, before each call. Throws `permission_lost` and `workspace_archived`, which end the run.
 */
export type Acting = (
  run: AutomationRunRecord,
  rights: RunRights,
  signal: AbortSignal,
  timeoutMs?: number,
) => Promise<CallOptions>;

const CALL_MS = 20_000;

/** Creates tokens for the person whose rights an automation runs with, limited to its workspace. */
export function createActing(parts: ActingParts): Acting {
  const actAs = createActAs({ auth: parts.peers.auth, systemCall: parts.systemCall });
  return async (run, rights, signal, timeoutMs = CALL_MS) => {
    await requireAccess(parts, rights, run);
    const options = await actAs(requestOf(run, rights), timeoutMs).catch((error: unknown) =>
      lostAccess(parts, run, error),
    );
    return { ...options, signal };
  };
}

/**
 * Throws if the person or the author no longer belongs to the workspace, or if it is archived; `WorkspaceHidden` while
 * the deletion of its Org is scheduled.
 */
async function requireAccess(
  parts: ActingParts,
  { userId, authorId }: RunRights,
  { workspaceId }: Pick<AutomationRunRecord, 'workspaceId'>,
): Promise<void> {
  const people = authorId === undefined ? [userId] : [userId, authorId];
  await Promise.all(people.map((id) => requireMember(parts, id, workspaceId)));
}

async function requireMember(parts: ActingParts, userId: string, workspaceId: string): Promise<void> {
  const { memberships, systemCall } = parts;
  const known = (await memberships.of(userId, systemCall())).workspaces.get(workspaceId);
  const place = known ?? (await memberships.fresh(userId, systemCall())).workspaces.get(workspaceId);
  if (place === undefined && (await isHidden(parts, workspaceId))) throw new WorkspaceHidden();
  if (place === undefined || !mayRead(place)) throw permissionLost();
  if (place.archived) throw new RunError('workspace_archived', 'The workspace is archived and can only be read.');
}

function requestOf(run: AutomationRunRecord, { userId, authorId, scopes }: RunRights): ActAsRequest {
  const { orgId, workspaceId, automationId, automationName } = run;
  return {
    ...{ userId, authorId, orgId, scopes: [...scopes], agent: undefined, workspaceIds: [workspaceId] },
    automation: { id: automationId, name: automationName, tainted: run.taints.length > 0 },
    chain: chainOf(run),
  };
}

/**
 * Throws `permission_lost` if the error means that the person has lost access, and `WorkspaceHidden` if nobody has;
 * rethrows other errors, which are retried.
 */
async function lostAccess(
  parts: ActingParts,
  { workspaceId }: Pick<AutomationRunRecord, 'workspaceId'>,
  error: unknown,
): Promise<never> {
  if (!isAccessLost(error)) throw error;
  throw (await isHidden(parts, workspaceId)) ? new WorkspaceHidden() : permissionLost();
}
