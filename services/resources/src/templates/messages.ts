import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { actorMessage } from '@commonplace/platform/actors';
import {
  type Template as TemplateMessage,
  TemplateScope,
  TemplateStatus,
} from '@commonplace/proto/resources/v1/template_service.js';
import { layOut } from '../domain/copy.js';
import { drawCopies } from './create.js';
import type { TemplateParts } from './parts.js';
import type { Template, TreeLine } from './records.js';
import { allOf } from './sources.js';
import type { SystemTemplate } from './system-templates.js';
import { previewOf } from './template-tree.js';

const SCOPES = { org: TemplateScope.ORG, personal: TemplateScope.PERSONAL };
const STATUSES = { ready: TemplateStatus.READY, building: TemplateStatus.BUILDING, failed: TemplateStatus.FAILED };
const NO_TREE = Buffer.alloc(0);

export function templateMessage(template: Template, tree: Buffer = NO_TREE): TemplateMessage {
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
    tree,
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

/** Returns the complete tree of a stored template as JSON; it is read and written in slices. */
export async function wholeTree(parts: TemplateParts, templateId: string, { signal }: CallContext): Promise<Buffer> {
  const breathe = createBreathe(signal);
  const nodes = await allOf(parts, templateId);
  const { copies } = await layOut({ id: templateId, boundary: templateId }, nodes, breathe);
  const pieces: Buffer[] = [];
  let text = '';
  for (const part of jsonOf(await drawCopies(nodes, copies, breathe))) {
    text += part;
    if (text.length < PIECE_CHARS) continue;
    pieces.push(Buffer.from(text));
    text = '';
    await breathe();
  }
  return Buffer.concat([...pieces, Buffer.from(text)]);
}

/** Characters of a tree that are written between two yields to the event loop. */
const PIECE_CHARS = 16 * 1024;

function json(lines: readonly TreeLine[]): Buffer {
  return Buffer.from([...jsonOf(lines)].join(''));
}

/** Yields the JSON of a tree in small parts. Each line has all of its fields; an absent icon is null. */
function* jsonOf(lines: readonly TreeLine[]): Generator<string> {
  yield '[';
  for (const [at, { type, name, icon = null, description, children }] of lines.entries()) {
    const fields = JSON.stringify({ type, name, icon, description });
    yield `${at === 0 ? '' : ','}${fields.slice(0, -1)},"children":`;
    yield* jsonOf(children);
    yield '}';
  }
  yield ']';
}
