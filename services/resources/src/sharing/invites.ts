import type { CallContext } from '@commonplace/kit/rpc';
import { foldEmail } from '@commonplace/kit/words';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceMemberStatus } from '@commonplace/proto/tenancy/v1/workspace.js';
import { ListWorkspaceMembersRequest } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import type { Node } from '../domain/node.js';
import { insufficientScope } from '../errors.js';
import type { SharingParts } from './parts.js';

/** An address that was invited to the workspace as a guest. */
export interface Invitation {
  readonly email: string;
  /** Id of the invited membership, which the person who accepts receives. */
  readonly placeId: string;
  readonly inviteUrl: string;
}

/**
 * Invites addresses into a node's workspace as guests. Sends an open invitation again, with its role unchanged. Tenancy
 * decides whether the caller and the Org allow it.
 */
export async function inviteGuests(
  { peers }: SharingParts,
  { workspaceId }: Pick<Node, 'workspaceId'>,
  requests: readonly { readonly email?: string | undefined }[],
  message: string | undefined,
  context: CallContext,
): Promise<Invitation[]> {
  if (requests.length > 0 && !context.caller.credential.scopes.includes('member:write')) {
    throw insufficientScope('member:write');
  }
  const invited: Invitation[] = [];
  for (const { email: given = '' } of requests) {
    const email = given.trim();
    const role = (await isInvited(email)) ? WorkspaceRole.UNSPECIFIED : WorkspaceRole.GUEST;
    const request = { workspaceId, email, role, message, userId: undefined, agentId: undefined, anyAccount: false };
    const { id, inviteUrl = '' } = await peers.workspaces.addWorkspaceMember(request, context.onward);
    invited.push({ email, placeId: id ?? '', inviteUrl });
  }
  return invited;

  async function isInvited(email: string): Promise<boolean> {
    const page = { limit: 20, offset: 0, cursor: '' };
    const request = ListWorkspaceMembersRequest.fromPartial({ workspaceId, q: email, page });
    const { items } = await peers.workspaces.listWorkspaceMembers(request, context.onward);
    return items.some(
      ({ status, principal }) =>
        status === WorkspaceMemberStatus.INVITED && foldEmail(principal?.email ?? '') === foldEmail(email),
    );
  }
}
