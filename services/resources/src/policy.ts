import type { Client } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { BreakGlass } from './break-glass.js';
import type { Grant } from './domain/grant.js';
import type { Tree } from './nodes/tree.js';
import { createAccessResolver } from './policy/access.js';
import { createAdmission } from './policy/admission.js';
import { createGrantReader } from './policy/grants.js';
import { createPeoplePolicy } from './policy/people.js';
import type { Policy } from './policy/port.js';
import { createSight } from './policy/sight.js';
import { createSubjects } from './policy/subjects.js';
import type { TermsCache } from './terms.js';

export type { AccessSubject, BlockedBy, Policy, Seen } from './policy/port.js';
export {
  blockedBy,
  notFound,
  requireCapability,
  requireReach,
  requireWorkspaceRole,
  requireWritable,
} from './policy/requirements.js';

export interface PolicyParts {
  readonly tree: Tree;
  readonly grants: Collection<Grant>;
  readonly memberships: MembershipCache;
  readonly directory: Client<DirectoryService>;
  readonly terms: TermsCache;
  readonly breakGlass: Pick<BreakGlass, 'note'>;
}

/** Creates the policy that decides what each caller may see and do. */
export function createPolicy({ tree, grants, memberships, directory, terms, breakGlass }: PolicyParts): Policy {
  const reader = createGrantReader(grants);
  const access = createAccessResolver(reader);
  const subjects = createSubjects({ grants, memberships, terms });
  return {
    subject: subjects.subject,
    subjectFor: subjects.subjectFor,
    accessTo: access.accessTo,
    accessToAll: access.accessToAll,
    grantsIn: reader.grantsIn,
    agentGrantsIn: reader.agentGrantsIn,
    grantedWorkspaces: reader.grantedWorkspaces,
    isArchived: async (workspaceId, { onward }) => (await terms.of(workspaceId, onward)).archived,
    ...createSight({ tree, access, breakGlass }),
    ...createAdmission({ directory, grants: reader }),
    ...createPeoplePolicy({ memberships, subjects, access }),
  };
}
