import { openGuard } from '@commonplace/kit/fetch';
import { openDepartures } from '@commonplace/platform/departures';
import { createMembershipCache } from '@commonplace/platform/memberships';
import { openOutgoingGuard } from '@commonplace/platform/outgoing';
import { type Host, openClients } from '@commonplace/platform/runtime';
import { createBreakGlass } from './break-glass.js';
import { createBodies } from './comments/bodies.js';
import { forgetComments } from './comments/forget.js';
import type { CommentParts } from './comments/parts.js';
import { commentCollection, threadCollection } from './comments/records.js';
import type { Settings } from './config.js';
import { artifactCollection, createArtifactKind } from './content/artifact.js';
import { createFileKind } from './content/file.js';
import { openKeeper } from './content/kept.js';
import { isCopyAwaited } from './copies/awaited.js';
import type { CopyParts } from './copies/parts.js';
import { copyPieceCollection } from './copies/records.js';
import { type Deriver, openDeriver } from './documents/kind/deriver.js';
import { createDocumentKind } from './documents/kind/document.js';
import { createHidden, type Hidden } from './documents/kind/hidden.js';
import { createNamelessDocuments } from './documents/kind/nameless.js';
import { contentCollection } from './documents/kind/records.js';
import { openFileAttempts } from './forms/attempts.js';
import { forgetForms } from './forms/forget.js';
import { openForms } from './forms/open-forms.js';
import type { FormParts } from './forms/parts.js';
import { formWarnings } from './forms/warnings.js';
import type { ContentKinds } from './kinds.js';
import { arrivalCollection } from './nodes/arrivals.js';
import { counterCollection, createCounters } from './nodes/counters.js';
import { jobCollection } from './nodes/jobs.js';
import type { NodeParts } from './nodes/parts.js';
import { createPendingJobs } from './nodes/pending.js';
import { nodeCollection } from './nodes/records.js';
import { shiftCollection } from './nodes/shifts.js';
import { tagUsageCollection } from './nodes/tag-usage.js';
import { createTree } from './nodes/tree.js';
import { type Parts, PEERS } from './parts.js';
import { createPolicy } from './policy.js';
import { openDomainQueue } from './publications/domain-jobs.js';
import { forgetPublications } from './publications/forget.js';
import { openPublicationParts } from './publications/open-parts.js';
import { publicationSummaries } from './publications/summaries.js';
import { openQuotas } from './quotas.js';
import type { SearchParts } from './search/parts.js';
import type { SharingParts } from './sharing/parts.js';
import { grantCollection } from './sharing/records.js';
import { accessRequestCollection } from './sharing/request-records.js';
import type { SnapshotParts } from './snapshots/parts.js';
import { snapshotCollection } from './snapshots/records.js';
import type { TableParts } from './tables/engine.js';
import { openTableKind } from './tables/open.js';
import { openTablePlanner, type TablePlanner } from './tables/planner.js';
import type { TagParts } from './tags/parts.js';
import { createTags, tagCollection } from './tags/records.js';
import type { TemplateParts } from './templates/parts.js';
import { templateCollection } from './templates/records.js';
import { createTermsCache } from './terms.js';
import type { TransferParts } from './transfer/parts.js';
import type { TreeParts } from './tree/parts.js';
import { openJobRunner } from './tree-jobs.js';

type ColumnWarnings = TableParts['columnWarnings'];
type ResourcesHost = Host<(typeof PEERS)[keyof typeof PEERS]>;

/** Opens the dependencies of each feature, lower features first. */
export async function openFeatures(host: ResourcesHost, settings: Settings) {
  const { store, log, systemCall } = host;
  const records = await openRecords(host);
  const { tree, jobs, counters, pending, grants, accessRequests, comments, threads, snapshots, shifts } = records;
  const peers = openClients(host, PEERS);
  const memberships = await createMembershipCache(peers.directory, host.bus);
  const terms = await createTermsCache(peers.directory, host.bus);
  const breakGlass = createBreakGlass({ store, log, settings });
  const policy = createPolicy({ tree, grants, memberships, directory: peers.directory, terms, breakGlass });
  const runner = await openJobRunner({ store, log, settings, partsOf: () => jobParts });
  const quotas = await openQuotas(store, settings, { ...records, tags: records.tags.collection });
  const nodes: NodeParts = { settings, store, tree, counters, jobs, pending, runner };
  const parts: Parts = { ...nodes, policy, quotas, peers, systemCall, log };
  const deriver = openDeriver(settings);
  const planner = openTablePlanner(settings);
  const hidden = createHidden({ tree, policy });
  const columnWarnings: ColumnWarnings = (node, columns) => formWarnings(forms, node, columns);
  const kinds = await openKinds(parts, hidden, deriver, planner, columnWarnings);

  const sharing: SharingParts = { ...parts, grants, accessRequests, departures: records.departures };
  const tags: TagParts = { ...parts, tags: records.tags, usage: records.usage };
  const commentParts: CommentParts = { ...parts, kinds, comments, threads, hidden, bodies: createBodies(deriver) };
  const snapshotParts: SnapshotParts = { ...parts, kinds, deriver, snapshots };
  const { bus } = host;
  const guard = await openOutgoingGuard({ settings, directory: peers.directory, bus, systemCall });
  // Domains of publications lead to this service itself.
  const certificateGuard = openGuard({ allowlist: settings.urlAllowlist });
  const fileAttempts = await openFileAttempts({ store, log, partsOf: () => formParts });
  const { collection: attempts } = fileAttempts;
  const forms = await openForms({ store, log, tree, table: kinds.table, settings, deriver, guard, attempts });
  const domainQueue = await openDomainQueue({ store, log, partsOf: () => publications });
  const publications = await openPublicationParts(
    { ...parts, kinds, grants, terms },
    domainQueue.collection,
    certificateGuard,
  );
  const copyPieces = await store.collection(copyPieceCollection);
  const treeParts: TreeParts = {
    ...sharing,
    ...tags,
    ...snapshotParts,
    shifts,
    arrivals: records.arrivals,
    forgetters: [
      (work, nodes) => forgetComments(commentParts, work, nodes),
      (work, nodes) => forgetForms(formParts, work, nodes),
      (work, nodes) => forgetPublications(publications, work, nodes),
    ],
    isCopyAwaited: (place, meets) => isCopyAwaited({ jobs, nodes: tree.nodes, copyPieces }, place, meets),
    publicationSummaries: (nodes, subject) => publicationSummaries(publications, nodes, subject),
  };
  const formParts: FormParts = { ...treeParts, forms, terms, verifyCaller: host.verifyCaller };
  const copies: CopyParts = { ...treeParts, ...commentParts, copyPieces };
  const templates: TemplateParts = { ...copies, templates: records.templates };
  const transfer: TransferParts = { ...formParts, ...commentParts, publications: publications.publications };
  const search: SearchParts = { ...treeParts, ...commentParts, forms, nameless: createNamelessDocuments() };
  const jobParts = { ...templates, ...formParts };
  return {
    sharing,
    tags,
    comments: commentParts,
    snapshots: snapshotParts,
    tree: treeParts,
    forms: formParts,
    publications,
    copies,
    templates,
    transfer,
    search,
    planner,
    runner,
    fileAttempts,
    domainQueue,
    certificateGuard,
    breakGlass,
  };
}

/** Opens the collections that several features or the quotas read. */
async function openRecords({ store }: Pick<Host, 'store'>) {
  const nodes = await store.collection(nodeCollection);
  const jobs = await store.collection(jobCollection);
  const usage = await store.collection(tagUsageCollection);
  const pending = createPendingJobs(jobs);
  return {
    nodes,
    jobs,
    usage,
    pending,
    tree: createTree(nodes, pending),
    counters: createCounters(await store.collection(counterCollection), usage),
    shifts: await store.collection(shiftCollection),
    arrivals: await store.collection(arrivalCollection),
    grants: await store.collection(grantCollection),
    accessRequests: await store.collection(accessRequestCollection),
    departures: await openDepartures(store),
    tags: createTags(await store.collection(tagCollection)),
    comments: await store.collection(commentCollection),
    threads: await store.collection(threadCollection),
    snapshots: await store.collection(snapshotCollection),
    templates: await store.collection(templateCollection),
  };
}

async function openKinds(
  parts: Parts,
  hidden: Hidden,
  deriver: Deriver,
  planner: TablePlanner,
  columnWarnings: ColumnWarnings,
): Promise<ContentKinds> {
  const { store, settings, tree, policy, peers, systemCall } = parts;
  const keeper = await openKeeper(store);
  const contents = await store.collection(contentCollection);
  const artifacts = await store.collection(artifactCollection);
  return {
    document: createDocumentKind({ contents, keeper, settings, hidden, deriver }),
    artifact: createArtifactKind({ artifacts, keeper, tree, policy }),
    table: await openTableKind(store, { settings, planner, tree, policy, columnWarnings }),
    file: createFileKind({ tree, files: peers.fileTexts, systemCall }),
  };
}
