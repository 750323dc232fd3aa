import { contracts } from '@commonplace/kit/contracts';
import type { Subscription } from '@commonplace/kit/events';
import { createMembershipCache } from '@commonplace/kit/memberships';
import { createPasswords } from '@commonplace/kit/passwords';
import { implement, type ServiceModule } from '@commonplace/kit/runtime';
import { createRoom } from './acts/room.js';
import { config } from './config.js';
import { artifactCollection, createArtifactKind } from './content/artifact.js';
import { openDeriver } from './content/deriver.js';
import { createDocumentKind } from './content/document.js';
import { createFileKind } from './content/file.js';
import { createHidden } from './content/hidden.js';
import type { ContentKinds } from './content/kinds.js';
import { COMMENTS_PER_DOCUMENT } from './domain/comments.js';
import { TAGS_PER_WORKSPACE } from './domain/tags.js';
import { openForms } from './forms/parts.js';
import { createAccessRequestHandlers } from './handlers/access-requests.js';
import { createCommentHandlers } from './handlers/comments.js';
import { createContentHandlers } from './handlers/content.js';
import { createCopyHandlers } from './handlers/copies.js';
import { createFileNodeHandlers } from './handlers/file-nodes.js';
import { createFormHookHandlers } from './handlers/form-hooks.js';
import { createFormPageHandlers } from './handlers/form-pages.js';
import { createFormHandlers } from './handlers/forms.js';
import { createIndexHandlers } from './handlers/index.js';
import { createPermissionHandlers } from './handlers/permissions.js';
import { createPublicationHandlers } from './handlers/publications.js';
import { createReaderHandlers } from './handlers/reader.js';
import { createResourceHandlers } from './handlers/resources.js';
import { createSnapshotHandlers } from './handlers/snapshots.js';
import { createTagHandlers } from './handlers/tags.js';
import { createTemplateHandlers, createTemplateUseHandlers } from './handlers/templates.js';
import { createTrashHandlers } from './handlers/trash.js';
import { createTreeExportHandlers } from './handlers/tree-exports.js';
import { createTreeImportHandlers } from './handlers/tree-import.js';
import { createDomainChecks } from './jobs/domains.js';
import { followMembers } from './jobs/members.js';
import { startRetention } from './jobs/purge.js';
import { createJobRunner } from './jobs/runner.js';
import type { Parts } from './parts.js';
import { createPolicy } from './policy.js';
import { createCertificateProbe } from './publications/certificates-guard.js';
import { createNodeResolver } from './publications/dns-node.js';
import { createHosts } from './publications/hosts.js';
import { createOutlines } from './publications/outlines.js';
import { accessRequestCollection } from './stores/access-requests.js';
import { commentCollection, threadCollection } from './stores/comments.js';
import { contentCollection } from './stores/contents.js';
import { copyPieceCollection } from './stores/copies.js';
import { counterCollection, createCounters } from './stores/counters.js';
import { grantCollection } from './stores/grants.js';
import { jobCollection } from './stores/jobs.js';
import { openKeeper } from './stores/kept.js';
import { nodeCollection } from './stores/nodes.js';
import { createPendingJobs } from './stores/pending.js';
import {
  domainCollection,
  passwordTriesCollection,
  pinnedPageCollection,
  publicationCollection,
  slugCollection,
  viewCollection,
} from './stores/publications.js';
import { shiftCollection } from './stores/shifts.js';
import { snapshotCollection } from './stores/snapshots.js';
import { tagUsageCollection } from './stores/tag-usage.js';
import { createTags, tagCollection } from './stores/tags.js';
import { templateCollection } from './stores/templates.js';
import { createTree } from './stores/tree.js';
import { openTableKind } from './tables/open.js';
import { createTermsCache } from './terms.js';

/** The tree of every workspace, what its nodes hold, and who may do what with them. */
export const resources: ServiceModule = {
  name: 'resources',
  config,
  stores: true,
  async start(host) {
    const settings = host.settings(config);
    const { store, log } = host;
    const nodes = await store.collection(nodeCollection);
    const grants = await store.collection(grantCollection);
    const jobs = await store.collection(jobCollection);
    const shifts = await store.collection(shiftCollection);
    const usage = await store.collection(tagUsageCollection);
    const counters = createCounters(await store.collection(counterCollection), usage);
    const tags = createTags(await store.collection(tagCollection));
    const copyPieces = await store.collection(copyPieceCollection);
    const pending = createPendingJobs(jobs);
    const tree = createTree(nodes, pending);
    const comments = await store.collection(commentCollection);
    const threads = await store.collection(threadCollection);
    const accessRequests = await store.collection(accessRequestCollection);
    const directory = host.client(contracts.directory);
    const memberships = await createMembershipCache(directory, host.bus);
    const terms = await createTermsCache(directory, host.bus);
    const policy = createPolicy({ tree, grants, memberships, directory, terms });
    const snapshots = await store.collection(snapshotCollection);
    const keeper = await openKeeper(store);
    const contents = await store.collection(contentCollection);
    const hidden = createHidden({ tree, policy });
    const deriver = openDeriver();
    const table = await openTableKind(store, { settings, tree, policy });
    const fileTexts = host.client(contracts.fileTexts);
    const kinds: ContentKinds = {
      document: createDocumentKind({ contents, keeper, settings, hidden, deriver }),
      artifact: createArtifactKind({ artifacts: await store.collection(artifactCollection), keeper, tree, policy }),
      table,
      file: createFileKind({ tree, files: fileTexts, systemCall: host.systemCall }),
    };
    const users = host.client(contracts.auth);
    const peers = {
      users,
      directory,
      workspaces: host.client(contracts.workspaces),
      files: host.client(contracts.files),
      fileTexts,
      entries: host.client(contracts.entries),
    };
    const forms = await openForms({ store, log, tree, table, settings });
    const runner = createJobRunner(() => parts, log);
    const domainChecks = createDomainChecks(() => parts, log);
    const countChildren = (parentKey: string) => nodes.count({ parentKey, state: 'active' }, settings.children);
    const children = createRoom('resources side by side', settings.children, countChildren);
    const room = createRoom('resources in a workspace', settings.workspaceResources, counters.ofWorkspace);
    const countTags = (workspaceId: string) => tags.collection.count({ workspaceId });
    const tagRoom = createRoom('tags in a workspace', TAGS_PER_WORKSPACE, countTags);
    const countComments = (resourceId: string) => comments.count({ resourceId }, COMMENTS_PER_DOCUMENT);
    const commentRoom = createRoom('comments on a document', COMMENTS_PER_DOCUMENT, countComments);
    const templates = await store.collection(templateCollection);
    const pinned = await store.collection(pinnedPageCollection);
    const domains = await store.collection(domainCollection);
    const parts: Parts = {
      settings,
      store,
      tree,
      kinds,
      snapshots,
      grants,
      accessRequests,
      jobs,
      shifts,
      copyPieces,
      counters,
      tags,
      usage,
      comments,
      threads,
      pending,
      policy,
      runner,
      children,
      room,
      tagRoom,
      commentRoom,
      templates,
      publications: await store.collection(publicationCollection),
      slugs: await store.collection(slugCollection),
      domains,
      domainChecks,
      pinned,
      views: await store.collection(viewCollection),
      passwordTries: await store.collection(passwordTriesCollection),
      outlines: createOutlines({ tree, pinned, counters, pending }),
      hosts: createHosts(domains, settings),
      resolver: createNodeResolver(settings.dnsServers),
      certificates: createCertificateProbe(forms.guard),
      passwords: await createPasswords(),
      forms,
      terms,
      verifyCaller: host.verifyCaller,
      peers,
      systemCall: host.systemCall,
      log,
    };
    let members: Subscription | undefined;
    let retention: { close(): void } | undefined;
    return {
      implementations: [
        implement(contracts.resources, createResourceHandlers(parts)),
        implement(contracts.content, createContentHandlers(parts)),
        implement(contracts.copies, createCopyHandlers(parts)),
        implement(contracts.snapshots, createSnapshotHandlers(parts)),
        implement(contracts.trash, createTrashHandlers(parts)),
        implement(contracts.permissions, createPermissionHandlers(parts)),
        implement(contracts.accessRequests, createAccessRequestHandlers(parts)),
        implement(contracts.index, createIndexHandlers(parts)),
        implement(contracts.tags, createTagHandlers(parts)),
        implement(contracts.comments, createCommentHandlers(parts)),
        implement(contracts.templates, createTemplateHandlers(parts)),
        implement(contracts.templateUse, createTemplateUseHandlers(parts)),
        implement(contracts.treeExports, createTreeExportHandlers(parts)),
        implement(contracts.forms, createFormHandlers(parts)),
        implement(contracts.formHooks, createFormHookHandlers(parts)),
        implement(contracts.formPages, createFormPageHandlers(parts)),
        implement(contracts.publications, createPublicationHandlers(parts)),
        implement(contracts.reader, createReaderHandlers(parts)),
        implement(contracts.fileNodes, createFileNodeHandlers(parts)),
        implement(contracts.treeImports, createTreeImportHandlers(parts)),
      ],
      begin: async () => {
        runner.begin();
        forms.deliveries.begin();
        retention = startRetention(parts, log);
        domainChecks.begin();
        members = await followMembers(parts, host.bus);
      },
      close: async () => {
        retention?.close();
        domainChecks.close();
        await members?.close();
        await runner.close();
        await deriver.close();
        await forms.deliveries.close();
        await forms.guard.close();
      },
    };
  },
};
