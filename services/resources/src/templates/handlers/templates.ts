import { credentialOutOfScope, isWorkspaceLimited } from '@commonplace/kit/auth';
import { InsufficientRole } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { isWithinTimes, pageOfAll, parsePageRequest, type StoredRecord } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import {
  type ListTemplatesRequest,
  TemplateInclude,
  type Template as TemplateMessage,
  TemplateScope,
  type TemplateService,
  type TemplateUseService,
} from '@commonplace/proto/resources/v1/template_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { endCopy } from '../../copies/job.js';
import type { AccessSubject } from '../../policy.js';
import { applyTemplate, isVisible, reachesTemplate, seeTemplate } from '../apply.js';
import { createTemplate, queue } from '../create.js';
import { publishTemplate } from '../events.js';
import { shippedMessage, templateMessage, wholeTree } from '../messages.js';
import type { TemplateParts } from '../parts.js';
import { type Template, templatesOf } from '../records.js';
import { systemTemplate, systemTemplates } from '../system-templates.js';

export function createTemplateHandlers(parts: TemplateParts): Handlers<TemplateService> {
  return {
    async listTemplates(request, context) {
      const listed = await templatesFor(parts, request, await parts.policy.subject(context));
      const { items, page } = pageOfAll(parsePageRequest(request.page), listed, ['rank', 'nameFold']);
      return { items: items.map(({ message }) => message), page };
    },

    async createTemplate(request, context) {
      const subject = await parts.policy.subject(context);
      return templateMessage(await createTemplate(parts, request, subject, context));
    },

    async getTemplate({ templateId, include }, context) {
      const withTree = include.includes(TemplateInclude.TREE);
      const shipped = systemTemplate(templateId);
      if (shipped !== undefined) return shippedMessage(shipped, withTree);
      const template = await seeTemplate(parts, templateId, await parts.policy.subject(context));
      return templateMessage(template, withTree ? await wholeTree(parts, templateId, context) : undefined);
    },

    async deleteTemplate({ templateId }, context) {
      if (systemTemplate(templateId) !== undefined) throw InsufficientRole({ scope: 'system' });
      const subject = await parts.policy.subject(context);
      const template = await seeTemplate(parts, templateId, subject);
      requireKeeper(template, subject);
      // An Org's list belongs to no workspace, so a credential limited to workspaces does not reach it.
      if (template.scope === 'org' && isWorkspaceLimited(context.caller)) throw credentialOutOfScope(context.caller);
      requireVersion(context, template.version, template);
      await deleteTemplate(parts, template, context);
      return { id: templateId, deleted: true };
    },
  };
}

export function createTemplateUseHandlers(parts: TemplateParts): Handlers<TemplateUseService> {
  return {
    applyTemplate: async (request, context) =>
      applyTemplate(parts, request, await parts.policy.subject(context), context),
  };
}

/** Throws unless the caller created the template or administers the Org that it is for. */
function requireKeeper({ createdById, orgId, scope }: Template, { caller, person }: AccessSubject): void {
  if (createdById === caller.userId) return;
  const role = scope === 'org' && orgId !== null ? person.orgs.get(orgId)?.role : undefined;
  if (role !== OrgRole.ADMIN && role !== OrgRole.OWNER) throw InsufficientRole({ needed: 'admin' });
}

async function deleteTemplate(parts: TemplateParts, template: Template, context: CallContext): Promise<void> {
  const { id, tenant } = template;
  const building = await context.work.get(parts.jobs, id);
  if (building !== undefined) await endCopy(parts, building, context.work);
  context.work.remove(parts.templates, template);
  queue(parts, { id: newId(), tenant, headId: id, kind: 'clear' }, context);
  publishTemplate(context, 'deleted', template);
}

interface ListedTemplate extends StoredRecord {
  /** 0 for a built-in template, 1 for others. */
  readonly rank: number;
  readonly nameFold: string;
  readonly message: TemplateMessage;
}

/** Returns the templates that a caller can choose from. */
async function templatesFor(
  parts: TemplateParts,
  { scope, q, createdBy, ...times }: Omit<ListTemplatesRequest, 'page'>,
  subject: AccessSubject,
): Promise<ListedTemplate[]> {
  const { caller, person } = subject;
  const wanted = (one: TemplateScope) => scope === TemplateScope.UNSPECIFIED || scope === one;
  const keys = [
    ...(wanted(TemplateScope.ORG) ? [...person.orgs.keys()].map((id) => `org:${id}`) : []),
    ...(wanted(TemplateScope.PERSONAL) ? [`user:${caller.userId}`] : []),
  ];
  const found = keys.length === 0 ? [] : await templatesOf(parts.templates, keys);
  const stored = found
    .filter((one) => isVisible(one, subject) && reachesTemplate(caller, one))
    .filter(({ createdById }) => createdBy === undefined || createdById === createdBy);
  const shipped = wanted(TemplateScope.SYSTEM) && createdBy === undefined ? systemTemplates : [];
  const part = foldName(q);
  return [
    ...shipped.map((one) => ({ rank: 0, nameFold: foldName(one.name), message: shippedMessage(one) })),
    ...stored.map((one) => ({ rank: 1, nameFold: one.nameFold, message: templateMessage(one) })),
  ]
    .filter(({ nameFold, message }) => nameFold.includes(part) && isWithinTimes(message, times))
    .map((listed) => ({ ...listed, id: listed.message.id, version: listed.message.version }));
}
