import { contracts } from '@commonplace/platform/contracts';
import { defineService, implement } from '@commonplace/platform/runtime';
import { createCommentHandlers } from './comments/handlers/comments.js';
import { config } from './config.js';
import { createCopyHandlers } from './copies/handlers/copies.js';
import { openFeatures } from './features.js';
import { createFormHookHandlers } from './forms/handlers/form-hooks.js';
import { createFormPageHandlers } from './forms/handlers/form-pages.js';
import { createFormHandlers } from './forms/handlers/forms.js';
import { PEERS } from './parts.js';
import { createPublicationHandlers } from './publications/handlers/publications.js';
import { createReaderHandlers } from './publications/handlers/reader.js';
import { createRetention } from './retention.js';
import { createIndexHandlers } from './search/handlers/index.js';
import { followGroups, followLateGrants, followMembers } from './sharing/follow-members.js';
import { createAccessRequestHandlers } from './sharing/handlers/access-requests.js';
import { createPermissionHandlers } from './sharing/handlers/permissions.js';
import { createContentHandlers } from './snapshots/handlers/content.js';
import { createSnapshotHandlers } from './snapshots/handlers/snapshots.js';
import { createTagHandlers } from './tags/handlers/tags.js';
import { templateBytes } from './templates/bytes.js';
import { createTemplateHandlers, createTemplateUseHandlers } from './templates/handlers/templates.js';
import { watchPurges } from './templates/purges.js';
import { createTreeExportHandlers } from './transfer/handlers/tree-exports.js';
import { createTreeImportHandlers } from './transfer/handlers/tree-import.js';
import { createFileNodeHandlers } from './tree/handlers/file-nodes.js';
import { createResourceHandlers } from './tree/handlers/resources.js';
import { createTrashHandlers } from './tree/handlers/trash.js';
import { setAccessMode } from './tree/update.js';

/** Declares the resources service: the tree of every workspace, what its nodes contain, and who has access to them. */
export const resources = defineService({
  name: 'resources',
  config,
  stores: true,
  calls: Object.values(PEERS),
  reachesInternet: true,
  async start(host) {
    const features = await openFeatures(host, host.settings(config));
    const { tree, sharing, tags, comments, snapshots, forms, publications, copies, templates, transfer } = features;
    const { planner, runner, fileAttempts, domainQueue } = features;
    return {
      implementations: [
        implement(contracts.resources, createResourceHandlers(tree)),
        implement(contracts.content, createContentHandlers(snapshots)),
        implement(contracts.copies, createCopyHandlers(copies)),
        implement(contracts.snapshots, createSnapshotHandlers(snapshots)),
        implement(contracts.trash, createTrashHandlers(tree)),
        implement(
          contracts.permissions,
          createPermissionHandlers({ ...sharing, setAccessMode: (...request) => setAccessMode(tree, ...request) }),
        ),
        implement(contracts.accessRequests, createAccessRequestHandlers(sharing)),
        implement(contracts.index, createIndexHandlers(features.search)),
        implement(contracts.tags, createTagHandlers(tags)),
        implement(contracts.comments, createCommentHandlers(comments)),
        implement(contracts.templates, createTemplateHandlers(templates)),
        implement(contracts.templateUse, createTemplateUseHandlers(templates)),
        implement(contracts.treeExports, createTreeExportHandlers(transfer)),
        implement(contracts.forms, createFormHandlers(forms)),
        implement(contracts.formHooks, createFormHookHandlers(forms)),
        implement(contracts.formPages, createFormPageHandlers(forms)),
        implement(contracts.publications, createPublicationHandlers(publications)),
        implement(contracts.reader, createReaderHandlers(publications)),
        implement(
          contracts.fileNodes,
          createFileNodeHandlers({
            ...tree,
            isPinned: async (id) => (await publications.pinned.get(id)) !== undefined,
            templateBytes: (owner) => templateBytes(templates, owner),
          }),
        ),
        implement(contracts.treeImports, createTreeImportHandlers(transfer)),
      ],
      runs: [
        features.breakGlass,
        features.certificateGuard,
        forms.forms.guard,
        planner,
        snapshots.deriver,
        runner,
        fileAttempts,
        forms.forms.deliveries,
        createRetention({ ...snapshots, passwordTries: publications.passwordTries }),
        domainQueue,
      ],
      consume: () => [
        followMembers(sharing, host.bus),
        followLateGrants(sharing, host.bus),
        followGroups(sharing, host.bus),
        watchPurges(templates, host.bus),
      ],
    };
  },
});
