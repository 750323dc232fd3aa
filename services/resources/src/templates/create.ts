import {
  credentialOutOfScope,
  defaultOrgId,
  isWorkspaceLimited,
  personBehind,
  reachesTenant,
} from '@commonplace/kit/auth';
import { type Fault, invalidField, invalidFields, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { type Breathe, createBreathe, parseJsonInSlices } from '@commonplace/kit/slices';
import { traceparentNow } from '@commonplace/kit/telemetry';
import { foldName } from '@commonplace/kit/words';
import { type CreateTemplateRequest, TemplateScope } from '@commonplace/proto/resources/v1/template_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { MAX_COPIED_BYTES } from '../config.js';
import { planPieces } from '../copies/copy.js';
import { copyPlanned } from '../copies/copy-planned.js';
import { missingTags } from '../copies/copy-tags.js';
import { renamingOf } from '../copies/renaming.js';
import { copiedBytes, copyId, layOut, type PlannedCopy } from '../domain/copy.js';
import type { Node } from '../domain/node.js';
import { rootPlace } from '../domain/tree.js';
import { OrgAdminRequired } from '../errors.js';
import type { TreeJob } from '../nodes/jobs.js';
import { type AccessSubject, requireWorkspaceRole } from '../policy.js';
import { insertSilently } from '../tags/wanted-tags.js';
import { requireWidth } from '../tree/reserve.js';
import { createTree } from './create-tree.js';
import { publishTemplate } from './events.js';
import type { TemplateParts } from './parts.js';
import type { Template, TreeLine } from './records.js';
import { readableIn, type TopSource } from './sources.js';
import { createDrawing, drawItems, previewOf, readTree, type TreeItem } from './template-tree.js';

/** The source of a template's content, and the Org that it belongs to. */
type TemplateSource =
  | { readonly orgId: string | null; readonly items: readonly TreeItem[] }
  | { readonly orgId: string | null; readonly workspaceId: string; readonly roots: readonly Node[] };

/** Creates a template: in this call, or its record now and its content by a job. */
export async function createTemplate(
  parts: TemplateParts,
  request: CreateTemplateRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<Template> {
  const material = await materialOf(parts, request, subject, context);
  const scope = request.scope === TemplateScope.ORG ? 'org' : 'personal';
  if (scope === 'org') requireOrgAdmin(material.orgId, subject);
  // An Org's list belongs to no workspace, so a credential limited to workspaces does not reach it.
  if (scope === 'org' && isWorkspaceLimited(subject.caller)) throw credentialOutOfScope(subject.caller);
  const listKey = scope === 'org' ? `org:${material.orgId}` : `user:${subject.caller.userId}`;
  await parts.quotas.templates.reserve(context.work, listKey);
  const id = context.callId;
  const made =
    'items' in material
      ? await fromTree(parts, id, material.orgId, material.items, context)
      : await fromWorkspace(parts, id, material, request.includeContent ?? true, subject, context);
  const now = new Date().toISOString();
  const { name, description, icon, category } = request;
  const template = context.work.insert(parts.templates, {
    id,
    tenant: material.orgId ?? id,
    orgId: material.orgId,
    sourceWorkspaceId: 'items' in material ? undefined : material.workspaceId,
    scope,
    listKey,
    name,
    nameFold: foldName(name),
    description,
    icon,
    category,
    resourceCount: made.count,
    preview: previewOf(made.tree),
    status: made.running ? 'building' : 'ready',
    createdBy: context.actor,
    createdById: subject.caller.userId,
    createdAt: now,
    updatedAt: now,
  });
  publishTemplate(context, 'created', template);
  return template;
}

async function materialOf(
  parts: TemplateParts,
  request: CreateTemplateRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<TemplateSource> {
  const { sourceWorkspaceId, rootResourceIds, tree, orgId, scope } = request;
  const fromThere = sourceWorkspaceId !== undefined || rootResourceIds.length > 0;
  const faults: Fault[] = [];
  const fault = (param: string, code: string, message: string) => faults.push({ param, code, message });
  if (fromThere && tree.length > 0) fault('tree', 'invalid_value', 'tree and source_workspace_id exclude each other.');
  if (!fromThere && tree.length === 0) {
    fault('source_workspace_id', 'missing_field', 'source_workspace_id or tree is required.');
  }
  if (scope === TemplateScope.SYSTEM) fault('scope', 'invalid_value', 'scope must be one of personal, org.');
  if (tree.length > 0) {
    const breathe = createBreathe(context.signal);
    const read = await readTree((await parseJsonInSlices(tree, breathe)) as unknown[], breathe);
    faults.push(...read.faults);
    const org = orgOf(orgId, subject);
    if (faults.length === 0) return { orgId: org, items: read.items };
  }
  if (faults.length > 0) throw invalidFields(faults);
  return workspaceOf(parts, request, subject, context);
}

/** Returns the Org of a template whose content is in the request; null for Personal. */
function orgOf(asked: string | undefined, { caller, person }: AccessSubject): string | null {
  const orgId = asked ?? defaultOrgId(caller);
  if (orgId !== null && !person.orgs.has(orgId)) throw NotFound();
  if (!reachesTenant(caller, orgId)) throw credentialOutOfScope(caller, orgId);
  // The template would belong to no workspace, so a credential limited to workspaces does not reach it.
  if (isWorkspaceLimited(caller)) throw credentialOutOfScope(caller);
  return orgId;
}

async function workspaceOf(
  parts: TemplateParts,
  { sourceWorkspaceId, rootResourceIds, orgId }: CreateTemplateRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<TemplateSource> {
  const roots = [...new Set(rootResourceIds)];
  const seen = [];
  for (const id of roots) seen.push(await parts.policy.see(id, subject));
  const workspaceId = sourceWorkspaceId ?? (seen[0]?.node.workspaceId as string);
  const membership = await parts.policy.enter(workspaceId, subject, context);
  requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
  const strays = seen.findIndex(({ node }) => node.workspaceId !== workspaceId);
  if (strays >= 0) {
    const message = 'root_resource_ids must be resources of one workspace.';
    throw invalidField(`root_resource_ids[${strays}]`, 'invalid_value', message);
  }
  const org = membership.orgId || null;
  if (orgId !== undefined && orgId !== org) {
    throw invalidField('org_id', 'invalid_value', 'org_id must be the Org of the workspace.');
  }
  return { orgId: org, workspaceId, roots: seen.map(({ node }) => node) };
}

function requireOrgAdmin(orgId: string | null, { person }: AccessSubject): void {
  if (orgId === null) throw invalidField('scope', 'invalid_value', 'scope org requires content of an Org.');
  const role = person.orgs.get(orgId)?.role;
  if (role !== OrgRole.ADMIN && role !== OrgRole.OWNER) throw OrgAdminRequired();
}

interface CreatedContent {
  readonly count: number;
  readonly tree: readonly TreeLine[];
  readonly running: boolean;
}

async function fromTree(
  parts: TemplateParts,
  id: string,
  orgId: string | null,
  items: readonly TreeItem[],
  context: CallContext,
): Promise<CreatedContent> {
  const idOf = (at: number) => copyId(id, String(at));
  await createTree(parts, items, { root: rootPlace(id, orgId), idOf, template: true }, context);
  if (items.length > parts.settings.inlineCopy) context.reply.status = 202;
  return { count: items.length, tree: drawItems(items), running: false };
}

async function fromWorkspace(
  parts: TemplateParts,
  id: string,
  { orgId, workspaceId, roots }: Extract<TemplateSource, { workspaceId: string }>,
  withContent: boolean,
  subject: AccessSubject,
  context: CallContext,
): Promise<CreatedContent> {
  const { nodes: all, restricted } = await readableIn(parts, workspaceId, roots, subject);
  if (restricted > 0) {
    const message = `${restricted} resources are restricted and were left out.`;
    context.reply.warnings = [...(context.reply.warnings ?? []), { code: 'restricted_left_out', message }];
  }
  const nodes = withContent ? all : all.filter(({ type }) => type !== 'file');
  const breathe = createBreathe(context.signal);
  const layout = await layOut({ id: workspaceId, boundary: workspaceId }, nodes, breathe);
  requireWidth(parts, layout.width);
  const root = rootPlace(id, orgId);
  const missing = await missingTags(parts, nodes, id);
  const newTags = new Map(missing.map((tag) => [tag.nameFold, insertSilently(parts, root, tag, context)]));
  const bytes = withContent ? nodes.reduce((sum, one) => sum + copiedBytes(one), 0) : 0;
  const running = nodes.length > parts.settings.inlineCopy || bytes > MAX_COPIED_BYTES;
  if (running) {
    context.reply.status = 202;
    const pieces = await planPieces(parts, { id, tenant: root.tenant }, layout, nodes, context);
    const copy = { sourceId: workspaceId, root: { id, orgId }, pieces, done: 0, formOnly: !withContent };
    const reader = subject.link === undefined ? subject.caller : undefined;
    queue(parts, { id, tenant: root.tenant, headId: id, kind: 'build', copy: { ...copy, reader } }, context);
  } else {
    const renamed = await renamingOf(id, nodes, breathe);
    const from = { from: workspaceId, to: root };
    const terms = { renamed, withComments: false, newTags, root: from, template: true, formOnly: !withContent };
    await copyPlanned(parts, id, layout.copies, terms, context);
  }
  return { count: nodes.length, tree: await drawCopies(nodes, layout.copies, breathe), running };
}

/** Queues a job, which starts when this call's work is committed. */
export function queue(
  parts: TemplateParts,
  job: Pick<TreeJob, 'id' | 'tenant' | 'headId' | 'kind' | 'copy' | 'reserved'>,
  context: CallContext,
  /** Milliseconds until the job becomes due. */
  pauseMs = 0,
): void {
  const now = Date.now();
  context.work.insert(parts.jobs, {
    ...job,
    workspaceIds: [job.headId],
    // No node's place depends on this job, so reads ignore it.
    sweep: true,
    actor: context.actor,
    personId: personBehind(context.actor, context.caller),
    traceparent: traceparentNow(),
    createdAt: new Date(now).toISOString(),
    leaseUntil: new Date(now + pauseMs).toISOString(),
  });
}

/** Returns the outline of planned copies, without attachments. */
export async function drawCopies(
  nodes: readonly TopSource[],
  copies: readonly PlannedCopy[],
  breathe: Breathe,
): Promise<readonly TreeLine[]> {
  const sources = new Map<string, TopSource>();
  for (const node of nodes) {
    sources.set(node.id, node);
    await breathe();
  }
  const drawing = createDrawing();
  for (const { id, parentId } of copies) {
    const node = sources.get(id) as TopSource;
    if (!node.attachment) drawing.add({ ...node, parentId });
    await breathe();
  }
  return drawing.tree;
}
