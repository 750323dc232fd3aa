import type { CallContext } from '@commonplace/kit/rpc';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceMemberStatus } from '@commonplace/proto/tenancy/v1/workspace.js';
import { insufficientScope } from '../errors.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';

/** An address that was invited as a guest of the workspace. */
export interface Invited {
  readonly email: string;
  /** The place in the workspace that whoever accepts takes up. */
  readonly placeId: string;
  readonly inviteUrl: string;
}

/**
 * Invites addresses into a node's workspace, as its guests; an open invitation is sent again and keeps its
 * role. Tenancy decides whether the caller and the Org allow it.
 */
export async function inviteGuests(
  { peers }: Parts,
  { workspaceId }: Pick<Node, 'workspaceId'>,
  asked: readonly { readonly email?: string | undefined }[],
  message: string | undefined,
  context: CallContext,
): Promise<Invited[]> {
  if (asked.length > 0 && !context.caller.credential.scopes.includes('member:write')) {
    throw insufficientScope('member:write');
  }
  const invited: Invited[] = [];
  for (const { email: given = '' } of asked) {
    const email = given.trim();
    const role = (await isInvited(email)) ? WorkspaceRole.UNSPECIFIED : WorkspaceRole.GUEST;
    const request = { workspaceId, email, role, message, userId: undefined, agentId: undefined };
    const { id, inviteUrl = '' } = await peers.workspaces.addWorkspaceMember(request, context.onward);
    invited.push({ email, placeId: id ?? '', inviteUrl });
  }
  return invited;

  async function isInvited(email: string): Promise<boolean> {
    const page = { limit: 20, offset: 0, cursor: '' };
    const request = { workspaceId, q: email, role: WorkspaceRole.UNSPECIFIED, page };
    const { items } = await peers.workspaces.listWorkspaceMembers(request, context.onward);
    return items.some(
      ({ status, principal }) =>
        status === WorkspaceMemberStatus.INVITED && principal?.email?.toLowerCase() === email.toLowerCase(),
    );
  }
}
