import type { CallOptions } from '@commonplace/kit/rpc';
import { isWorkspaceRoleAtLeast } from '@commonplace/platform/memberships';
import type { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { PrincipalType } from '@commonplace/proto/tenancy/v1/workspace.js';
import type { Parts } from '../parts.js';
import { belongsTo } from '../policy.js';
import type { ApprovalPolicy } from '../stores/agents.js';
import type { ApprovalRecord, ApprovalTerms } from '../stores/approvals.js';

/** The data that determines who may decide about a call of a run. */
type Deciding = Pick<ApprovalRecord, 'orgId' | 'workspaceId' | 'runUserId' | 'agentOwnerId' | 'kind' | 'risk'> & {
  readonly terms: ApprovalTerms;
};

interface ApproverIds {
  readonly ids: readonly string[];
  /** Whether `ids` are the administrators of the workspace. */
  readonly asksAdmins: boolean;
}

/** Returns whether a membership of a workspace lets a person see what is in it. */
export const isReader = ({ role }: Pick<WorkspaceMembership, 'role'>): boolean =>
  isWorkspaceRoleAtLeast(role, WorkspaceRole.VIEWER);

const NOBODY: ApproverIds = { ids: [], asksAdmins: false };
const PAGE = 200;

/**
 * Finds the people who may decide, by current memberships. Use an instance for one request only, since it caches what
 * it reads.
 */
export class ApproverLookup {
  private readonly admins = new Map<string, Promise<readonly string[]>>();
  private readonly active = new Map<string, Promise<boolean>>();

  constructor(
    private readonly parts: Pick<Parts, 'memberships' | 'directory' | 'auth'>,
    private readonly options: () => CallOptions,
  ) {}

  /**
   * Returns the approvers that the policy names, without people who have left its place. If none is left, it returns
   * the agent's owner, otherwise the administrators of the workspace. A question is put to the person who started the
   * run, whatever the policy names, and to nobody else.
   */
  async approversOf(about: Deciding): Promise<ApproverIds> {
    const { kind, terms, agentOwnerId, runUserId } = about;
    if (kind === 'question') {
      const asked = { ...about, terms: { ...terms, fourEyes: false } };
      return { ids: await this.eligible([runUserId], asked), asksAdmins: false };
    }
    const named = await this.membersOf(terms.approvers, about);
    const among = terms.alsoAmong === undefined ? undefined : await this.membersOf(terms.alsoAmong, about);
    const both = among === undefined ? named.ids : named.ids.filter((id) => among.ids.includes(id));
    // The approvers of the request narrow those of the agent's owner, and never replace them.
    if (both.length > 0) return { ids: both, asksAdmins: named.asksAdmins };
    if (named.ids.length > 0) return named;
    const [owner] = await this.eligible([agentOwnerId ?? runUserId], about);
    if (owner !== undefined) return { ids: [owner], asksAdmins: false };
    const admins = await this.membersOf('workspace_admins', about);
    return admins.ids.length > 0 ? admins : NOBODY;
  }

  private async membersOf(approvers: ApprovalPolicy['approvers'], about: Deciding): Promise<ApproverIds> {
    switch (approvers) {
      case 'initiator':
        return { ids: await this.eligible([about.runUserId], about), asksAdmins: false };
      case 'owner':
        return { ids: await this.eligible([about.agentOwnerId ?? about.runUserId], about), asksAdmins: false };
      case 'workspace_admins':
        return { ids: await this.eligible(await this.adminsOf(about.workspaceId), about), asksAdmins: true };
      default:
        return { ids: await this.eligible(approvers as readonly string[], about), asksAdmins: false };
    }
  }

  /**
   * Returns the ids of people who belong to the place of the run and whose account is not disabled. With `fourEyes` it
   * leaves out the person who started the run.
   */
  private async eligible(ids: readonly string[], { terms, runUserId, ...place }: Deciding): Promise<string[]> {
    const others = [...new Set(ids)].filter((id) => !(terms.fourEyes && id === runUserId));
    const belong = await Promise.all(
      others.map(async (id) => belongsTo(await this.parts.memberships.of(id, this.options()), place)),
    );
    return this.activeAmong(others.filter((_, i) => belong[i]));
  }

  /** Returns the people whose account the operator has not disabled. */
  private async activeAmong(ids: readonly string[]): Promise<string[]> {
    const unknown = ids.filter((id) => !this.active.has(id));
    if (unknown.length > 0) {
      const found = this.parts.auth
        .findUsers({ ids: unknown, emails: [], activeOnly: true }, this.options())
        .then(({ users }) => new Set(users.map(({ id }) => id)));
      for (const id of unknown) {
        this.active.set(
          id,
          found.then((users) => users.has(id)),
        );
      }
    }
    const active = await Promise.all(ids.map((id) => this.active.get(id)));
    return ids.filter((_, i) => active[i]);
  }

  private adminsOf(workspaceId: string | undefined): Promise<readonly string[]> {
    if (workspaceId === undefined) return Promise.resolve([]);
    const known = this.admins.get(workspaceId);
    if (known !== undefined) return known;
    const asked = Promise.all(
      [WorkspaceRole.OWNER, WorkspaceRole.ADMIN].map((role) => this.peopleWith(workspaceId, role)),
    ).then((lists) => lists.flat());
    this.admins.set(workspaceId, asked);
    return asked;
  }

  private async peopleWith(workspaceId: string, role: WorkspaceRole): Promise<string[]> {
    const page = { limit: PAGE, offset: 0, cursor: '' };
    const { items } = await this.parts.directory.listPeople({ workspaceId, role, page }, this.options());
    return items.flatMap(({ principal }) => (principal?.type === PrincipalType.USER ? (principal.id ?? []) : []));
  }
}
