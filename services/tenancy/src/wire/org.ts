import {
  AgentApprovalMinimum,
  type Org as OrgMessage,
  type OrgSettings as OrgSettingsMessage,
  OrgStatus,
} from '@commonplace/proto/tenancy/v1/org.js';
import { fullOrgSettings, type OrgSettings } from '../domain/org-settings.js';
import { orgRoleAtLeast, orgRoleName, workspaceRoleName } from '../domain/roles.js';
import type { OrgAccess } from '../policy.js';

interface OrgCounts {
  readonly members: number;
  readonly workspaces: number;
}

/** The only plan of a self-hosted installation. */
const PLAN = 'self_hosted';

/** Returns an Org as one of its members sees it. Only administrators get its settings. */
export function toOrg({ org, member }: OrgAccess, counts: OrgCounts): OrgMessage {
  return {
    id: org.id,
    name: org.name,
    slug: org.slug,
    description: org.description,
    avatarUrl: undefined,
    status: org.status === 'active' ? OrgStatus.ACTIVE : OrgStatus.DELETION_SCHEDULED,
    role: orgRoleName(member.role),
    plan: PLAN,
    memberCount: counts.members,
    workspaceCount: counts.workspaces,
    settings: orgRoleAtLeast(member.role, 'admin') ? toSettings(org.settings) : undefined,
    createdAt: org.createdAt,
    updatedAt: org.updatedAt,
    version: org.version,
  };
}

function toSettings(settings: OrgSettings): OrgSettingsMessage {
  const { defaultWorkspaceRole, agentApprovalMinimum, allowedEmailDomains, urlAllowlist, ...rest } =
    fullOrgSettings(settings);
  return {
    ...rest,
    defaultWorkspaceRole: defaultWorkspaceRole && workspaceRoleName(defaultWorkspaceRole),
    agentApprovalMinimum: approvalMinimumName(agentApprovalMinimum),
    allowedEmailDomains: [...allowedEmailDomains],
    urlAllowlist: [...urlAllowlist],
  };
}

const APPROVAL_MINIMUMS = { risky: AgentApprovalMinimum.RISKY, always: AgentApprovalMinimum.ALWAYS };

export function approvalMinimumName(minimum: OrgSettings['agentApprovalMinimum']): AgentApprovalMinimum | undefined {
  return minimum && APPROVAL_MINIMUMS[minimum];
}
