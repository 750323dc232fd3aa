import { type Caller, credentialOutOfScope, personBehind, reachesTenant } from '@commonplace/kit/auth';
import { NotFound, TenantBoundary, Unavailable } from '@commonplace/kit/errors';
import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { ApplyTemplateRequest, ApplyTemplateResponse } from '@commonplace/proto/resources/v1/template_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { MAX_COPIED_BYTES } from '../config.js';
import { planPieces } from '../copies/copy.js';
import { copyPlanned } from '../copies/copy-planned.js';
import { missingTags } from '../copies/copy-tags.js';
import { renamingOf } from '../copies/renaming.js';
import { copiedBytes, copyId, layOut } from '../domain/copy.js';
import type { Node, Place } from '../domain/node.js';
import { rootPlace } from '../domain/tree.js';
import { TemplateNotReady } from '../errors.js';
import { type AccessSubject, notFound } from '../policy.js';
import { insertTag } from '../tags/wanted-tags.js';
import { requireWidth } from '../tree/reserve.js';
import { queue } from './create.js';
import { createTree } from './create-tree.js';
import type { TemplateParts } from './parts.js';
import type { Template } from './records.js';
import { allOf } from './sources.js';
import { type SystemTemplate, systemTemplate } from './system-templates.js';

/** Returns a template that the caller can see. Throws NotFound for any other, whether it exists or not. */
export async function seeTemplate(parts: TemplateParts, id: string, subject: AccessSubject): Promise<Template> {
  const template = await parts.templates.get(id);
  if (template === undefined) throw await notFound(subject);
  if (!isVisible(template, subject)) {
    await subject.refresh();
    if (!isVisible(template, subject)) throw NotFound();
  }
  if (!reachesTemplate(subject.caller, template)) throw credentialOutOfScope(subject.caller, template.orgId);
  return template;
}

/**
 * Returns whether the credential reaches a template. One that is limited to workspaces reaches only templates that were
 * made from them.
 */
export function reachesTemplate(caller: Caller, { orgId, sourceWorkspaceId = '' }: Template): boolean {
  return reachesTenant(caller, orgId) && caller.credential.workspaceIds?.includes(sourceWorkspaceId) !== false;
}

/**
 * Returns whether the caller can see a template. Org templates are visible to members of the Org except guests,
 * personal ones to their creator while they belong to the Org.
 */
export function isVisible({ orgId, scope, createdById }: Template, { caller, person }: AccessSubject): boolean {
  const role = orgId === null ? undefined : person.orgs.get(orgId)?.role;
  if (scope === 'personal') return createdById === caller.userId && (orgId === null || role !== undefined);
  return role !== undefined && role !== OrgRole.GUEST;
}

/** Seconds after which the remains of an earlier request may have been deleted. */
const RETRY_SECONDS = 2;

/** Milliseconds after which the job checks that a workspace exists into which the request has copied a template. */
const SETTLED_MS = 15_000;

/**
 * Copies a template into a workspace that has no members yet: in this call, or its tags now and the rest by a job. A
 * repeated call for the same template and workspace returns the first one's result, unless that is being deleted because
 * the workspace was not created in time.
 */
export async function applyTemplate(
  parts: TemplateParts,
  { templateId, workspaceId, orgId = null }: Omit<ApplyTemplateRequest, 'orgId'> & { readonly orgId?: string | null },
  subject: AccessSubject,
  context: CallContext,
): Promise<ApplyTemplateResponse> {
  const shipped = systemTemplate(templateId);
  const template = shipped ?? (await seeTemplate(parts, templateId, subject));
  const key = derivedId(`apply:${templateId}:${workspaceId}`);
  const known = await parts.jobs.get(key);
  if (known?.copy !== undefined) {
    if (known.discards) throw Unavailable({}, { retryAfter: RETRY_SECONDS });
    // The workspace has as much time again to be created.
    context.work.replace(parts.jobs, known, { ...known, createdAt: new Date().toISOString() });
    return { running: known.copy.pieces > 0, resourceCount: template.resourceCount };
  }
  const root = rootPlace(workspaceId, orgId);
  if ('tree' in template) await createShippedTree(parts, template, root, key, context);
  const copy =
    'tree' in template
      ? { sourceId: templateId, pieces: 0, done: 0 }
      : await copyStored(parts, template, root, key, context);
  const reserved = copy.pieces === 0 ? undefined : { workspaceId, resources: template.resourceCount };
  const job = { id: key, tenant: root.tenant, headId: workspaceId, kind: 'apply', copy, reserved } as const;
  queue(parts, job, context, copy.pieces === 0 ? SETTLED_MS : 0);
  return { running: copy.pieces > 0, resourceCount: template.resourceCount };
}

type Root = Place & { readonly id: string };

function createShippedTree(
  parts: TemplateParts,
  { items }: SystemTemplate,
  root: Root,
  key: string,
  context: CallContext,
): Promise<Node[]> {
  return createTree(parts, items, { root, idOf: (at) => copyId(key, String(at)), template: false }, context);
}

async function copyStored(parts: TemplateParts, template: Template, root: Root, key: string, context: CallContext) {
  if (template.orgId !== root.orgId) throw TenantBoundary();
  if (template.status !== 'ready') throw TemplateNotReady({ status: template.status });
  // Conflicts with a concurrent deletion of the template.
  context.work.expect(parts.templates, template);
  const nodes = await allOf(parts, template.id);
  const breathe = createBreathe(context.signal);
  const layout = await layOut({ id: template.id, boundary: template.id }, nodes, breathe);
  requireWidth(parts, layout.width);
  await parts.quotas.resources.reserve(context.work, root.workspaceId, nodes.length);
  const missing = await missingTags(parts, nodes, root.workspaceId);
  await parts.quotas.tags.reserve(context.work, root.workspaceId, missing.length);
  const newTags = new Map(missing.map((tag) => [tag.nameFold, insertTag(parts, root, tag, context)]));
  const progress = { sourceId: template.id, root: { id: root.id, orgId: root.orgId }, done: 0 };
  const bytes = nodes.reduce((sum, one) => sum + copiedBytes(one), 0);
  if (nodes.length > parts.settings.inlineCopy || bytes > MAX_COPIED_BYTES) {
    return { ...progress, pieces: await planPieces(parts, { id: key, tenant: root.tenant }, layout, nodes, context) };
  }
  const renamed = await renamingOf(key, nodes, breathe);
  const createdForId = personBehind(context.actor, context.caller);
  const terms = { renamed, withComments: false, createdForId, newTags, root: { from: template.id, to: root } };
  await copyPlanned(parts, key, layout.copies, terms, context);
  return { ...progress, pieces: 0 };
}
