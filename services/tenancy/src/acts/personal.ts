import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { foldName } from '@commonplace/kit/words';
import type { Person } from '../domain/person.js';
import { freeSlug } from '../domain/slug.js';
import { publishWorkspace, publishWorkspaceMember } from '../events.js';
import type { Parts } from '../parts.js';
import { slugScope, type Workspace } from '../stores/workspaces.js';
import { placeOf } from './join.js';

const NAME = 'Personal';

/**
 * Creates a person's default workspace. Its ids are derived from the person's id, so that of several concurrent
 * attempts one succeeds and the others find its result when they are retried.
 */
export async function createPersonalWorkspace(
  parts: Parts,
  context: CallContext,
  id: string,
  person: Person,
): Promise<Workspace> {
  const { userId, name } = person;
  const [now, actor] = [parts.now(), { type: 'user', id: userId, name } as const];
  const scope = slugScope(null, userId);
  const slug = await freeSlug(NAME, (one) => parts.workspaces.isSlugTaken(scope, one));
  const workspace = context.work.insert(parts.workspaces.records, {
    id,
    tenant: id,
    name: NAME,
    nameFold: foldName(NAME),
    slug,
    slugKey: `${scope}:${slug}`,
    state: 'active',
    settings: {},
    createdBy: actor,
    createdAt: now,
    updatedBy: actor,
    updatedAt: now,
  });
  const joining = { workspace, person, role: 'owner', guest: false, addedBy: userId, adder: actor } as const;
  const place = placeOf({ ...joining, id: derivedId(`personal-membership:${userId}`) }, now);
  const member = context.work.insert(parts.workspaceMembers.records, place);
  publishWorkspace(context, 'created', workspace);
  publishWorkspaceMember(context, 'added', member);
  return workspace;
}
