import type { Caller } from '@commonplace/kit/auth';
import { AppError, defineInvalid } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';

export const WorkspaceRequired = defineInvalid(
  'workspace_required',
  'The request does not say which workspace it means. Send workspace_id.',
);

/**
 * Opens the workspace that a request means: the one that it names, else the only one of the credential, the one of the
 * request's header, or Personal. Throws `workspace_required` if there is none of these, or the person has left Personal.
 */
export async function openWorkspace<T>(
  { credential, workspaceId, tenant, userId }: Caller,
  named: string | undefined,
  open: (workspaceId: string) => Promise<T>,
): Promise<T> {
  const { workspaceIds } = credential;
  const chosen = named ?? (workspaceIds?.length === 1 ? workspaceIds[0] : workspaceId);
  if (chosen !== undefined) return open(chosen);
  const isPersonal = (tenant?.orgId ?? null) === null;
  if (workspaceIds !== undefined || !isPersonal) throw required();
  try {
    return await open(homeOf(userId));
  } catch (error) {
    throw error instanceof AppError && error.code === 'NOT_FOUND' ? required() : error;
  }
}

const required = () => WorkspaceRequired({}, { param: 'workspace_id' });
