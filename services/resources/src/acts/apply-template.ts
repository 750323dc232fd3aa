import { reachesTenant } from '@commonplace/kit/auth';
import { NotFound, TenantBoundary } from '@commonplace/kit/errors';
import { derivedId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { ApplyTemplateRequest, ApplyTemplateResponse } from '@commonplace/proto/resources/v1/template_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { COPIED_BYTES } from '../config.js';
import { copiedBytes, copyId, layOut } from '../domain/copy.js';
import { rootPlace } from '../domain/tree.js';
import { TemplateNotReady } from '../errors.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Node, Place } from '../stores/nodes.js';
import type { Template } from '../stores/templates.js';
import { type SystemTemplate, systemTemplate } from '../templates/index.js';
import { planPieces } from './copy.js';
import { copyPlanned } from './copy-planned.js';
import { missingTags } from './copy-tags.js';
import { queue } from './create-template.js';
import { plant } from './plant.js';
import { allOf } from './template-sources.js';
import { insertTag } from './wanted-tags.js';

/** A template that the caller sees. What they can't see is not found, like what isn't there. */
export async function seeTemplate(parts: Parts, id: string, standing: Standing): Promise<Template> {
  const template = await parts.templates.get(id);
  if (template === undefined) throw NotFound();
  if (!isVisible(template, standing)) {
    await standing.refresh();
    if (!isVisible(template, standing)) throw NotFound();
  }
  if (!reachesTenant(standing.caller, template.orgId)) throw TenantBoundary();
  return template;
}

/** Those for an Org are for its members, guests apart; personal ones for who made them, while they are in the Org. */
export function isVisible({ orgId, scope, createdById }: Template, { caller, person }: Standing): boolean {
  const role = orgId === null ? undefined : person.orgs.get(orgId)?.role;
  if (scope === 'personal') return createdById === caller.userId && (orgId === null || role !== undefined);
  return role !== undefined && role !== OrgRole.GUEST;
}

/** Milliseconds after which a workspace is looked for that a template was copied into within the request. */
const SETTLED_MS = 15_000;

/** Copies a template into a workspace that nobody is in yet: at once, or its tags and the rest after the answer. */
export async function applyTemplate(
  parts: Parts,
  { templateId, workspaceId, orgId = null }: Omit<ApplyTemplateRequest, 'orgId'> & { readonly orgId?: string | null },
  standing: Standing,
  context: CallContext,
): Promise<ApplyTemplateResponse> {
  const shipped = systemTemplate(templateId);
  const template = shipped ?? (await seeTemplate(parts, templateId, standing));
  const key = derivedId(`apply:${templateId}:${workspaceId}`);
  const known = await parts.jobs.get(key);
  if (known?.copy !== undefined) {
    return { running: known.copy.pieces > 0, resourceCount: template.resourceCount };
  }
  const root = rootPlace(workspaceId, orgId);
  if ('tree' in template) await plantShipped(parts, template, root, key, context);
  const copy =
    'tree' in template
      ? { sourceId: templateId, pieces: 0, done: 0 }
      : await copyStored(parts, template, root, key, context);
  const job = { id: key, tenant: root.tenant, headId: workspaceId, kind: 'apply', copy } as const;
  queue(parts, job, context, copy.pieces === 0 ? SETTLED_MS : 0);
  return { running: copy.pieces > 0, resourceCount: template.resourceCount };
}

type Root = Place & { readonly id: string };

function plantShipped(
  parts: Parts,
  { items }: SystemTemplate,
  root: Root,
  key: string,
  context: CallContext,
): Promise<Node[]> {
  return plant(parts, items, { root, idOf: (at) => copyId(key, String(at)), template: false }, context);
}

async function copyStored(parts: Parts, template: Template, root: Root, key: string, context: CallContext) {
  if (template.orgId !== root.orgId) throw TenantBoundary();
  if (template.status !== 'ready') throw TemplateNotReady({ status: template.status });
  // Whoever deletes it meanwhile and we must not both succeed.
  context.work.expect(parts.templates, template);
  const nodes = await allOf(parts, template.id);
  await parts.room.take(root.workspaceId, nodes.length);
  const layout = layOut(template.id, nodes);
  const missing = await missingTags(parts, nodes, root.workspaceId);
  const newTags = new Map(missing.map((tag) => [tag.nameFold, insertTag(parts, root, tag, context)]));
  const progress = { sourceId: template.id, root: { id: root.id, orgId: root.orgId }, done: 0 };
  const bytes = nodes.reduce((sum, one) => sum + copiedBytes(one), 0);
  if (nodes.length > parts.settings.inlineCopy || bytes > COPIED_BYTES) {
    return { ...progress, pieces: planPieces(parts, { id: key, tenant: root.tenant }, layout, nodes, context) };
  }
  const sources = new Set(nodes.map((one) => one.id));
  const renamed = (source: string) => (sources.has(source) ? copyId(key, source) : undefined);
  const terms = { renamed, withComments: false, newTags, root: { from: template.id, to: root } };
  await copyPlanned(parts, key, layout.copies, terms, context);
  return { ...progress, pieces: 0 };
}
