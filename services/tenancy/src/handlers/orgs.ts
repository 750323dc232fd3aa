import { credentialOutOfScope } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { OrgStatus } from '@commonplace/proto/tenancy/v1/org.js';
import type { OrgService } from '@commonplace/proto/tenancy/v1/org_service.js';
import { ownerOf } from '../acts/join.js';
import { changeOrg, chosenOrgSlug, requireConfirmed, requireNoAvatar } from '../acts/org-changes.js';
import { listOrgs } from '../acts/org-lists.js';
import { DAY_MS } from '../config.js';
import { givenFields, maskOf } from '../domain/mask.js';
import { readOrgSettings } from '../domain/org-settings.js';
import { publishOrg, publishOrgMember } from '../events.js';
import type { Parts } from '../parts.js';
import { type OrgAccess, requireOrgRole } from '../policy.js';
import { toOrg } from '../wire/org.js';

type OrgMethods = Pick<Handlers<OrgService>, 'listOrgs' | 'createOrg' | 'getOrg' | 'updateOrg' | 'deleteOrg'>;

export function createOrgHandlers(parts: Parts): OrgMethods {
  const { orgs, orgMembers, workspaces, policy } = parts;

  async function answer(orgAccess: readonly OrgAccess[]) {
    if (orgAccess.length === 0) return [];
    const ids = orgAccess.map(({ org }) => org.id);
    const [members, spaces] = await Promise.all([orgMembers.countActive(ids), workspaces.countByOrg(ids)]);
    return orgAccess.map((access) => {
      const { id } = access.org;
      return toOrg(access, { members: members.get(id) ?? 0, workspaces: spaces.get(id) ?? 0 });
    });
  }

  async function answerOne(access: OrgAccess) {
    const [org] = await answer([access]);
    return org as NonNullable<typeof org>;
  }

  return {
    async listOrgs(request, { caller }) {
      const { items, page } = await listOrgs(parts, caller, request);
      return { items: await answer(items), page };
    },

    async createOrg(request, context) {
      const { caller, work } = context;
      if (caller.tenant !== undefined && caller.tenant.orgId !== null) throw credentialOutOfScope(caller, null);
      requireNoAvatar(request.avatarFileId);
      const settings = readOrgSettings(request.settings, givenFields(request.settings));
      const slug = await chosenOrgSlug(parts, request.slug, request.name);
      const [id, now, { actor }] = [newId(), parts.now(), context];
      const org = work.insert(orgs.records, {
        id,
        tenant: id,
        name: request.name,
        slug,
        description: request.description,
        status: 'active',
        settings,
        createdBy: actor,
        createdAt: now,
        updatedBy: actor,
        updatedAt: now,
      });
      const member = work.insert(orgMembers.records, ownerOf(org, caller, now));
      publishOrg(context, 'created', org);
      publishOrgMember(context, 'added', member);
      return toOrg({ org, member }, { members: 1, workspaces: 0 });
    },

    async getOrg({ orgId }, { caller }) {
      return answerOne(await policy.seeOrg(orgId, caller));
    },

    async updateOrg(request, context) {
      const mask = maskOf(request.updateMask);
      const restores = mask.has('status') && request.status === OrgStatus.ACTIVE;
      const see = restores ? policy.seeOrgToRestore : policy.seeOrg;
      const access = await see(request.orgId, context.caller);
      requireOrgRole(access, mask.has('status') ? 'owner' : 'admin');
      const org = await changeOrg(parts, context, access.org, request, mask);
      return answerOne({ ...access, org });
    },

    async deleteOrg({ orgId, confirm }, context) {
      const access = await policy.seeOrg(orgId, context.caller);
      requireOrgRole(access, 'owner');
      requireConfirmed(access.org, confirm);
      requireVersion(context, access.org.version, access.org);
      const purgeAt = parts.now(parts.settings.orgRetentionDays * DAY_MS);
      const deleted = context.work.replace(orgs.records, access.org, {
        ...access.org,
        status: 'deletion_scheduled',
        purgeAt,
        updatedBy: context.actor,
        updatedAt: parts.now(),
      });
      publishOrg(context, 'deleted', deleted, ['status']);
      return { id: orgId, deleted: true, purgeAt };
    },
  };
}
