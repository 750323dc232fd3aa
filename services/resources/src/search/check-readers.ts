import type { CallContext } from '@commonplace/kit/rpc';
import type { CheckReadersRequest, CheckReadersResponse } from '@commonplace/proto/resources/v1/index_service.js';
import { ResourceRole } from '@commonplace/proto/resources/v1/resource.js';
import { roleMessage, TYPES } from '../wire.js';
import type { SearchParts } from './parts.js';

/**
 * Returns the present access of people to resources, including trashed ones. Reads the resources once for all people.
 */
export async function checkReaders(
  { policy, tree }: SearchParts,
  { resourceIds, userIds, workspaceId }: CheckReadersRequest,
  context: CallContext,
): Promise<CheckReadersResponse> {
  const nodes = (await tree.getMany(resourceIds)).filter((node) => node.template === undefined);
  const readers = await Promise.all(
    userIds.map(async (userId) => {
      const subject = await policy.subjectFor(userId, context);
      const access = await policy.accessToAll(nodes, subject);
      const isMember = subject.person.workspaces.has(workspaceId);
      return {
        roles: access.map((held) => (held === undefined ? ResourceRole.UNSPECIFIED : roleMessage(held.role))),
        entersWorkspace: workspaceId !== '' && (isMember || (await policy.grantsIn(workspaceId, subject)).length > 0),
      };
    }),
  );
  const resources = nodes.map(({ id, workspaceId: of, state, type, ancestors, tags }) => ({
    ...{ id, workspaceId: of, trashed: state !== 'active' },
    ...{ type: TYPES[type], ancestorIds: [...ancestors], tagIds: [...tags] },
  }));
  return { resources, readers };
}
