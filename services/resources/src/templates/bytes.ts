import { findEach, type Where } from '@commonplace/kit/store';
import type { TemplateParts } from './parts.js';
import type { Template } from './records.js';

/** Number of templates that are read at once. */
const CHUNK = 200;

/** Whose templates to sum: those that belong to an Org, whoever sees them, or the Personal ones of a person. */
interface TemplateOwner {
  readonly orgId?: string | undefined;
  readonly userId?: string | undefined;
}

/** Returns the bytes of templates, 0 if no owner is named. */
export async function templateBytes(
  { templates, tree }: Pick<TemplateParts, 'templates' | 'tree'>,
  { orgId, userId }: TemplateOwner,
): Promise<number> {
  if (orgId === undefined && userId === undefined) return 0;
  const where: Where<Template> = orgId === undefined ? { listKey: `user:${userId}` } : { tenant: orgId };
  let bytes = 0;
  for await (const { id, orgId: holder } of findEach(templates, { where }, CHUNK)) {
    if (orgId !== undefined || holder === null) bytes += await tree.nodes.sum('sizeBytes', { workspaceId: id });
  }
  return bytes;
}
