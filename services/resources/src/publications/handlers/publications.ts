import { NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import type { PublicationService } from '@commonplace/proto/resources/v1/publication_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import {
  IsPublished,
  NoUpdateField,
  PublicationSuspended,
  PublishingDisabled,
  WorkspaceArchived,
} from '../../errors.js';
import { publishChange } from '../../events.js';
import { type AccessSubject, requireCapability, requireWorkspaceRole, type Seen } from '../../policy.js';
import type { PublicationInput } from '../input.js';
import type { PublicationParts } from '../parts.js';
import { publicationOf, stateOf } from '../publication-state.js';
import { type PublishOptions, type PublishTarget, publish, unpublish } from '../publish.js';
import type { PublicationRecord } from '../records.js';
import { storedMessage, unpublishedMessage, writtenMessage } from '../wire.js';

export function createPublicationHandlers(parts: PublicationParts): Handlers<PublicationService> {
  const { policy, publications } = parts;

  async function enter(workspaceId: string, minRole: WorkspaceRole, context: CallContext) {
    const subject = await policy.subject(context);
    const membership = await policy.enter(workspaceId, subject, context);
    requireWorkspaceRole(membership, minRole);
    return { subject, membership };
  }

  async function changeWorkspace(
    workspaceId: string,
    input: PublicationInput,
    before: PublicationRecord | undefined,
    options: PublishOptions,
    subject: AccessSubject,
    context: CallContext,
  ) {
    const { workspaceName: name, orgId } = await subject.terms(workspaceId);
    const tenant = orgId || workspaceId;
    const item = { itemId: workspaceId, kind: 'workspace', tenant, workspaceId, boundary: workspaceId, name } as const;
    return writtenMessage(parts, await publish(parts, item, before, input, options, context), context);
  }

  return {
    async getResourcePublication({ resourceId }, context) {
      const { node } = await policy.see(resourceId, await policy.subject(context));
      const record = await publicationOf(publications, node.id);
      return record === undefined ? unpublishedMessage(node.id) : storedMessage(parts, record, context);
    },

    async publishResource({ resourceId, ...input }, context) {
      const subject = await policy.subject(context);
      const seen = await policy.see(resourceId, subject);
      requireCapability(seen, 'manage');
      await requireAllowed(seen.node.workspaceId, subject);
      const before = await publicationOf(publications, seen.node.id);
      const state = async () => {
        if (seen.membership?.archived) throw WorkspaceArchived();
        if (before === undefined) return;
        requireVersion(context, before.version, before);
        requireNotSuspended(before);
      };
      const options = { republish: true, active: true, state };
      const written = await publish(parts, itemOf(seen), before, input, options, context);
      markPublished(parts, seen, true, context);
      if (before !== undefined) context.reply.status = 200;
      return writtenMessage(parts, written, context);
    },

    async unpublishResource({ resourceId }, context) {
      const seen = await policy.see(resourceId, await policy.subject(context));
      requireCapability(seen, 'manage');
      const record = await publicationOf(publications, seen.node.id);
      if (record === undefined) throw NotFound();
      requireVersion(context, record.version, record);
      // Publishing it again would create a new publication without the suspension.
      requireNotSuspended(record);
      const slugReservedUntil = await unpublish(parts, record, context);
      markPublished(parts, seen, false, context);
      return { id: record.id, deleted: true, slugReservedUntil };
    },

    async getWorkspacePublication({ workspaceId }, context) {
      await enter(workspaceId, WorkspaceRole.VIEWER, context);
      const record = await publicationOf(publications, workspaceId);
      return record === undefined ? unpublishedMessage(undefined) : storedMessage(parts, record, context);
    },

    async publishWorkspace({ workspaceId, ...input }, context) {
      const { subject, membership } = await enter(workspaceId, WorkspaceRole.ADMIN, context);
      await requireAllowed(workspaceId, subject);
      const before = await publicationOf(publications, workspaceId);
      const state = async () => {
        if (membership.archived) throw WorkspaceArchived();
        if (before === undefined) return;
        requireVersion(context, before.version, before);
        requireNotSuspended(before);
        if (await isActive(parts, before, subject)) throw IsPublished();
      };
      const options = { republish: true, active: true, state };
      const answer = await changeWorkspace(workspaceId, input, before, options, subject, context);
      if (before !== undefined) context.reply.status = 200;
      return answer;
    },

    async updateWorkspacePublication({ workspaceId, isActive, ...input }, context) {
      if ((input.updateMask ?? []).length === 0) throw NoUpdateField();
      const { subject, membership } = await enter(workspaceId, WorkspaceRole.ADMIN, context);
      const takesBack = isActive === false;
      // Publishing may be forbidden, but unpublishing never is.
      if (!takesBack) await requireAllowed(workspaceId, subject);
      const before = await publicationOf(publications, workspaceId);
      if (before === undefined) throw NotFound();
      const state = async () => {
        if (membership.archived && !takesBack) throw WorkspaceArchived();
        requireVersion(context, before.version, before);
        if (!takesBack) requireNotSuspended(before);
      };
      const options = { republish: isActive === true, active: isActive ?? before.active, state };
      return changeWorkspace(workspaceId, input, before, options, subject, context);
    },
  };
}

/** Throws unless the Org allows public publishing. */
async function requireAllowed(workspaceId: string, subject: AccessSubject): Promise<void> {
  if (!(await subject.terms(workspaceId)).allowPublicPublishing) throw PublishingDisabled();
}

/** Throws if an operator has suspended the publication. */
function requireNotSuspended({ suspendedAt }: PublicationRecord): void {
  if (suspendedAt !== undefined) throw PublicationSuspended();
}

async function isActive(parts: PublicationParts, record: PublicationRecord, subject: AccessSubject): Promise<boolean> {
  const terms = await subject.terms(record.workspaceId);
  const outline = await parts.outlines.of(record);
  const state = stateOf(record, terms, outline !== undefined, new Date().toISOString());
  return state === 'active' || state === 'suspended';
}

function itemOf({ node }: Seen): PublishTarget {
  const { id: itemId, tenant, workspaceId, boundary, name } = node;
  return { itemId, kind: 'resource', tenant, workspaceId, boundary, name };
}

/** Records on a node whether it has a publication, so that nodes without one need no look-up. */
function markPublished({ tree }: PublicationParts, { node }: Seen, isPublished: boolean, context: CallContext): void {
  let marked = node;
  if ((node.published === true) !== isPublished) {
    const { published: _, ...rest } = node;
    marked = context.work.replace(tree.nodes, node, isPublished ? { ...rest, published: true } : rest);
  }
  publishChange(context, { verb: 'resource.updated', fields: ['publication'] }, marked);
}
