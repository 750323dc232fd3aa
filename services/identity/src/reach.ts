import { AppError } from '@commonplace/kit/errors';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { isAdmin } from './policy.js';

/** Decides what a person can see, whatever the credential. */
export interface Reach {
  org(userId: string, orgId: string, options: CallOptions): Promise<boolean>;
  /**
   * Returns the Org of a workspace (null: Personal); undefined if the person cannot see it. Administrators of an
   * Org see all of its workspaces.
   */
  workspace(userId: string, workspaceId: string, options: CallOptions): Promise<{ orgId: string | null } | undefined>;
}

export function createReach(memberships: MembershipCache, directory: Client<DirectoryService>): Reach {
  return {
    async org(userId, orgId, options) {
      return (await memberships.of(userId, options)).orgs.has(orgId);
    },
    async workspace(userId, workspaceId, options) {
      const person = await memberships.of(userId, options);
      const joined = person.workspaces.get(workspaceId);
      if (joined !== undefined) return { orgId: joined.orgId || null };
      if (![...person.orgs.values()].some(isAdmin)) return undefined;
      const { orgId } = await directory.lookUpWorkspace({ workspaceId }, options).catch(ifMissing);
      return isAdmin(person.orgs.get(orgId)) ? { orgId } : undefined;
    },
  };
}

function ifMissing(error: unknown): { orgId: string } {
  if (error instanceof AppError && error.code === 'NOT_FOUND') return { orgId: '' };
  throw error;
}
