import { type Fault, invalidFields } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Tag as TagMessage } from '@commonplace/proto/resources/v1/tag.js';
import {
  type OperateTagsRequest,
  OperateTagsResponse,
  TagOperation,
} from '@commonplace/proto/resources/v1/tag_service.js';
import type { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { NoUpdateField } from '../errors.js';
import { type AccessSubject, requireWorkspaceRole } from '../policy.js';
import { mergeTags, requireActive, tagIn, updateTag } from './commands.js';
import type { TagParts } from './parts.js';
import { listTags, tagMessage } from './queries.js';
import type { Tag } from './records.js';
import { foldTag, parseColor } from './rules.js';
import { countUsage } from './usage.js';
import { insertTag } from './wanted-tags.js';

type Operation = Exclude<TagOperation, TagOperation.UNSPECIFIED>;

const FIELDS: Record<Operation, { readonly name: string; readonly known: string[]; readonly required: string[] }> = {
  [TagOperation.LIST]: { name: 'list', known: ['resource_ids', 'q', 'sort'], required: [] },
  [TagOperation.CREATE]: { name: 'create', known: ['name', 'color', 'description'], required: ['name'] },
  [TagOperation.UPDATE]: {
    name: 'update',
    known: ['tag_id', 'name', 'color', 'description'],
    required: ['tag_id'],
  },
  [TagOperation.MERGE]: { name: 'merge', known: ['tag_id', 'into_tag_id'], required: ['tag_id', 'into_tag_id'] },
};

/** Executes an operation on a workspace's tags (api: 8.3). */
export async function operateTags(
  parts: TagParts,
  request: OperateTagsRequest,
  context: CallContext,
): Promise<OperateTagsResponse> {
  const operation = operationOf(request);
  const subject = await parts.policy.subject(context);
  const membership = await parts.policy.enter(request.workspaceId, subject, context);
  requireWorkspaceRole(membership, operation === TagOperation.LIST ? WorkspaceRole.VIEWER : WorkspaceRole.EDITOR);
  const mask = new Set(request.updateMask ?? []);
  mask.delete('operation');
  const { known } = FIELDS[operation];
  // A null or an empty list counts as absent in an operation without that field.
  if (request.resourceIds.length === 0) mask.delete('resource_ids');
  if (request.color === undefined && !known.includes('color')) mask.delete('color');
  if (request.description === undefined && !known.includes('description')) mask.delete('description');
  requireFields(operation, mask);
  if (operation === TagOperation.LIST) return list(parts, request, subject);
  const tenant = membership.orgId || request.workspaceId;
  const tag = await perform(parts, { ...request, tenant }, operation, { mask, membership }, context);
  return tagAnswer(tag.usage === undefined ? await withUsage(parts, tag.tag) : tagMessage(tag.tag, tag.usage));
}

function operationOf({ operation, name }: OperateTagsRequest): Operation {
  if (operation !== TagOperation.UNSPECIFIED) return operation as Operation;
  return name === undefined ? TagOperation.LIST : TagOperation.CREATE;
}

/** Throws if a field does not belong to the operation, or a required one is missing. */
function requireFields(operation: Operation, given: ReadonlySet<string>): void {
  const { name, known, required } = FIELDS[operation];
  const faults: Fault[] = [...given]
    .filter((field) => !known.includes(field))
    .map((param) => ({ param, code: 'unknown_field', message: `${param} is not a field of the operation ${name}.` }));
  for (const param of required) {
    if (!given.has(param)) faults.push({ param, code: 'missing_field', message: `${param} is required to ${name}.` });
  }
  if (faults.length > 0) throw invalidFields(faults);
  if (operation === TagOperation.UPDATE && given.size === 1) {
    throw NoUpdateField();
  }
}

interface OperationResult {
  readonly tag: Tag;
  /** Number of resources with the tag, if known. */
  readonly usage?: number;
}

async function perform(
  parts: TagParts,
  request: OperateTagsRequest & { readonly tenant: string },
  operation: Operation,
  { mask, membership }: { readonly mask: ReadonlySet<string>; readonly membership: WorkspaceMembership },
  context: CallContext,
): Promise<OperationResult> {
  const { workspaceId, name = '', tagId = '', intoTagId = '' } = request;
  if (operation === TagOperation.CREATE) {
    const color = parseColor(request.color);
    requireActive(membership);
    const existing = (await parts.tags.named(workspaceId, [name])).get(foldTag(name));
    if (existing !== undefined) return { tag: existing };
    await parts.quotas.tags.reserve(context.work, workspaceId);
    context.reply.status = 201;
    return { tag: insertTag(parts, request, { name, color, description: request.description }, context), usage: 0 };
  }
  const tag = await tagIn(parts, workspaceId, tagId);
  if (operation === TagOperation.UPDATE) {
    const fields = new Set([...mask].filter((field) => field !== 'tag_id'));
    return { tag: await updateTag(parts, tag, { ...request, fields }, membership, context) };
  }
  const into = await tagIn(parts, workspaceId, intoTagId);
  const carried = await parts.tags.carriedFor([tagId, intoTagId]);
  const where = { tags: { containsAny: carried }, workspaceId, state: 'active' } as const;
  const usage = await parts.tree.nodes.count(where);
  return { tag: await mergeTags(parts, { from: tag, into }, membership, context), usage };
}

async function withUsage(parts: TagParts, tag: Tag): Promise<TagMessage> {
  return tagMessage(tag, (await countUsage(parts, [tag])).get(tag.id) ?? 0);
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function tagAnswer({ color, description, ...tag }: TagMessage): OperateTagsResponse {
  const rest = { color: json(color ?? null), description: json(description ?? null) };
  return { ...OperateTagsResponse.fromPartial({}), ...tag, ...rest };
}

/** Lists the tags of the workspace, or those of some of its resources with the tags of each. */
async function list(
  parts: TagParts,
  request: OperateTagsRequest,
  subject: AccessSubject,
): Promise<OperateTagsResponse> {
  const { workspaceId, resourceIds, q = '', sort = '', page } = request;
  const asked = request.updateMask?.includes('resource_ids') === true;
  const tagged = asked ? await tagsByResource(parts, workspaceId, resourceIds, subject) : undefined;
  const only = tagged === undefined ? {} : { ids: [...new Set(Object.values(tagged).flat())] };
  const listed = await listTags(parts, { workspaceId, q, sort, page, ...only });
  return {
    ...OperateTagsResponse.fromPartial({}),
    items: { items: listed.items },
    page: listed.page,
    byResource: tagged === undefined ? Buffer.alloc(0) : json(tagged),
  };
}

async function tagsByResource(parts: TagParts, workspaceId: string, ids: readonly string[], subject: AccessSubject) {
  const nodes = (await parts.tree.getMany(ids)).filter(
    (node) => node.workspaceId === workspaceId && node.state === 'active',
  );
  const access = await parts.policy.accessToAll(nodes, subject);
  const readable = nodes.filter((_, i) => access[i] !== undefined);
  const tags = await parts.tags.ofAll(readable);
  return Object.fromEntries(readable.map(({ id }) => [id, (tags.get(id) ?? []).map((tag) => tag.id)]));
}
