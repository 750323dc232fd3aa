import {
  type Template as TemplateMessage,
  TemplateScope,
  TemplateStatus,
} from '@commonplace/proto/resources/v1/template_service.js';
import { layOut } from '../domain/copy.js';
import { actorMessage } from '../wire.js';
import { drawnOf } from './create.js';
import type { TemplateParts } from './parts.js';
import type { Template, TreeLine } from './records.js';
import { allOf } from './sources.js';
import type { SystemTemplate } from './system-templates.js';
import { drawTree, previewOf } from './template-tree.js';

const SCOPES = { org: TemplateScope.ORG, personal: TemplateScope.PERSONAL };
const STATUSES = { ready: TemplateStatus.READY, building: TemplateStatus.BUILDING, failed: TemplateStatus.FAILED };
const NO_TREE = Buffer.alloc(0);

export function templateMessage(template: Template, tree?: readonly TreeLine[]): TemplateMessage {
  return {
    id: template.id,
    name: template.name,
    description: template.description,
    icon: template.icon,
    category: template.category,
    scope: SCOPES[template.scope],
    orgId: template.orgId ?? undefined,
    resourceCount: template.resourceCount,
    previewTree: json(template.preview),
    status: STATUSES[template.status],
    createdBy: actorMessage(template.createdBy),
    createdAt: template.createdAt,
    updatedAt: template.updatedAt,
    version: template.version,
    tree: tree === undefined ? NO_TREE : json(tree),
  };
}

/** Creation time of the built-in templates. */
const SHIPPED_AT = '2026-01-01T00:00:00.000Z';

export function shippedMessage(template: SystemTemplate, withTree = false): TemplateMessage {
  const { id, name, description, icon, category, resourceCount, tree } = template;
  return {
    id,
    name,
    description,
    icon,
    category,
    scope: TemplateScope.SYSTEM,
    orgId: undefined,
    resourceCount,
    previewTree: json(previewOf(tree)),
    status: TemplateStatus.READY,
    createdBy: undefined,
    createdAt: SHIPPED_AT,
    updatedAt: SHIPPED_AT,
    version: 1,
    tree: withTree ? json(tree) : NO_TREE,
  };
}

/** Returns the complete tree of a stored template. */
export async function wholeTree(parts: TemplateParts, templateId: string): Promise<TreeLine[]> {
  const nodes = await allOf(parts, templateId);
  return drawTree(drawnOf(nodes, layOut({ id: templateId, boundary: templateId }, nodes).copies));
}

function json(lines: readonly TreeLine[]): Buffer {
  return Buffer.from(JSON.stringify(lines.map(plain)));
}

/** Returns a line with all of its fields; an absent icon is null. */
function plain({ type, name, icon, description, children }: TreeLine): object {
  const words = description === undefined ? {} : { description };
  return { type, name, icon: icon ?? null, ...words, children: children.map(plain) };
}
