import { AppError, invalidField } from '@commonplace/kit/errors';
import { type CallContext, requireVersion } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import { OrgStatus } from '@commonplace/proto/tenancy/v1/org.js';
import type { UpdateOrgRequest } from '@commonplace/proto/tenancy/v1/org_service.js';
import { type Mask, mergeSettings } from '../domain/mask.js';
import { readOrgSettings } from '../domain/org-settings.js';
import { freeSlug, requireSlug } from '../domain/slug.js';
import { SlugTaken } from '../errors.js';
import { publishOrg } from '../events.js';
import type { Parts } from '../parts.js';
import type { Org } from '../stores/orgs.js';

/** Returns the requested slug, or a free one derived from the name. Throws `invalid_slug` or `slug_taken`. */
export async function chosenOrgSlug({ orgs }: Parts, slug: string | undefined, name: string): Promise<string> {
  const isTaken = async (one: string) => (await orgs.bySlug(one)) !== undefined;
  if (slug === undefined) return freeSlug(name, isTaken);
  if (await isTaken(requireSlug(slug))) throw SlugTaken({ slug });
  return slug;
}

/** Throws NotFound if a file is named: avatar files do not exist yet. */
export function requireNoAvatar(fileId: string | undefined): void {
  if (fileId !== undefined) {
    throw new AppError('NOT_FOUND', 'not_found', 'There is no such file.', { param: 'avatar_file_id' });
  }
}

/** Throws if a request confirms a deletion with anything but the Org's slug. A confirmation is optional. */
export function requireConfirmed({ slug }: Org, confirm: string | undefined): void {
  if (confirm !== undefined && confirm !== slug) {
    throw invalidField('confirm', 'invalid_value', "must be the Org's slug.");
  }
}

/**
 * Applies the changes that a request names, and publishes events about them. Checks the version after the values, which
 * are wrong in every version.
 */
export async function changeOrg(
  parts: Parts,
  context: CallContext,
  org: Org,
  request: UpdateOrgRequest,
  mask: Mask,
): Promise<Org> {
  if (mask.has('status') && request.status !== OrgStatus.ACTIVE) {
    throw invalidField('status', 'invalid_value', 'can only be set to active; DELETE schedules the deletion.');
  }
  if (mask.has('avatar_file_id')) requireNoAvatar(request.avatarFileId);
  const settings = readOrgSettings(request.settings, mask.settings);
  const slug = mask.has('slug') && request.slug !== org.slug ? requireSlug(request.slug ?? '') : undefined;
  requireVersion(context, org.version, org);
  const { purgeAt: _, ...kept } = org;
  const changed = replaceChanged(context.work, parts.orgs.records, org, {
    ...(mask.has('status') ? kept : org),
    name: request.name ?? org.name,
    description: mask.has('description') ? request.description : org.description,
    slug: slug === undefined ? org.slug : await chosenOrgSlug(parts, slug, org.name),
    settings: mergeSettings(org.settings, settings, mask.settings),
    status: mask.has('status') ? 'active' : org.status,
    updatedBy: context.actor,
    updatedAt: parts.now(),
  });
  if (org.status !== changed.status) publishOrg(context, 'restored', changed, ['status']);
  const fields = mask.fields.filter((field) => field !== 'status');
  if (fields.length > 0 && changed !== org) publishOrg(context, 'updated', changed, fields);
  return changed;
}
