import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import type { ReadTreeRequest, TreeExportService } from '@commonplace/proto/resources/v1/tree_export_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { type AccessSubject, requireWorkspaceRole } from '../../policy.js';
import { shownWorkspacePublication } from '../export/outward.js';
import { createEmails } from '../export/people.js';
import type { ArchiveTerms } from '../export/pieces.js';
import { readTree } from '../export/read-tree.js';
import type { TransferParts } from '../parts.js';

/** Maximum number of a workspace's tags in an archive. */
const MAX_TAGS = 2000;

/** Creates the handlers that exports call. Only administrators of the workspace may use them. */
export function createTreeExportHandlers(parts: TransferParts): Handlers<TreeExportService> {
  async function enter(workspaceId: string, context: CallContext): Promise<AccessSubject> {
    const subject = await parts.policy.subject(context);
    requireWorkspaceRole(await parts.policy.enter(workspaceId, subject, context), WorkspaceRole.ADMIN);
    return subject;
  }

  return {
    async describeTree({ workspaceId }, context) {
      await enter(workspaceId, context);
      const where = { workspaceId, mergedInto: { exists: false } } as const;
      const tags = await parts.tags.collection.find({ where, sort: ['nameFold'], limit: MAX_TAGS });
      const shown = tags.map(({ id, name, color = null, description = null }) => ({ id, name, color, description }));
      return {
        resourceCount: await parts.counters.ofWorkspace(workspaceId),
        tagsJson: Buffer.from(JSON.stringify(shown)),
        publicationJson: Buffer.from(JSON.stringify(await shownWorkspacePublication(parts, workspaceId))),
      };
    },

    async *readTree(request, context) {
      const subject = await enter(request.workspaceId, context);
      yield* readTree(parts, request, termsOf(parts, request, subject, context));
    },
  };
}

function termsOf(
  parts: TransferParts,
  { format, include }: ReadTreeRequest,
  subject: AccessSubject,
  context: CallContext,
): ArchiveTerms {
  return {
    format: format === 'markdown' || format === 'html' ? format : 'native',
    include: include ?? { files: false, comments: false, snapshots: false, permissions: false },
    subject,
    context,
    emails: createEmails(parts),
  };
}
