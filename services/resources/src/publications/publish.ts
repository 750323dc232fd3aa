import { randomBytes } from 'node:crypto';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import { DomainTaken, SlugTaken } from '../errors.js';
import { claimDomains, dropDomains } from './domains.js';
import { publishPublication } from './events.js';
import { requireImage } from './images.js';
import { DEFAULTS, type PublicationInput, readInput, type Settings } from './input.js';
import { MAX_DOMAINS } from './open.js';
import type { PublicationParts } from './parts.js';
import { forgetEdition, pinEdition } from './pins.js';
import { type DomainRecord, MAX_SLUGS, type PublicationRecord, type SlugRecord } from './records.js';
import { REDIRECT_DAYS, RESERVED_DAYS, requireSlug, slugCandidates } from './slugs.js';

/** The resource or workspace to publish, with the fields that publishing needs. */
export interface PublishTarget {
  readonly itemId: string;
  readonly kind: PublicationRecord['kind'];
  readonly tenant: string;
  readonly workspaceId: string;
  readonly boundary: string;
  readonly name: string;
}

export interface PublishResult {
  readonly record: PublicationRecord;
  readonly domains: readonly DomainRecord[];
  /** Whether this call has pinned the pages that the publication shows. */
  readonly pinnedNow: boolean;
}

export interface PublishOptions {
  /** Whether to pin the item as it is now and make it active; false for a change of settings alone. */
  readonly republish: boolean;
  /** False: hidden from readers. */
  readonly active: boolean;
  /** Checks the state of the item and its surroundings; runs after the request itself has been validated. */
  readonly state: () => Promise<void>;
}

/** Publishes an item, or changes how it is published. All checks of the request come before the first write. */
export async function publish(
  parts: PublicationParts,
  item: PublishTarget,
  before: PublicationRecord | undefined,
  input: PublicationInput,
  { republish, active, state }: PublishOptions,
  context: CallContext,
): Promise<PublishResult> {
  const now = new Date().toISOString();
  const read = readInput(input, before ?? DEFAULTS, now, parts.hosts.own);
  const wantedSlug = input.slug === undefined ? undefined : requireSlug(input.slug);
  if (input.updateMask?.includes('image_file_id')) await requireImage(parts, item, read.settings.imageFileId, context);
  await state();
  const { slug, holder } = await freeSlug(parts, item, before, wantedSlug, now, context);
  await requireFreeDomains(parts, before, read.domains, context);

  const id = before?.id ?? newId();
  const record = {
    ...fieldsOf(read.settings),
    id,
    tenant: item.tenant,
    itemId: item.itemId,
    kind: item.kind,
    workspaceId: item.workspaceId,
    boundary: republish || before === undefined ? item.boundary : before.boundary,
    slug,
    active,
    suspendedAt: before?.suspendedAt,
    listed: active && isListed(read.settings),
    // An expired publication that is published again without a new expiry time no longer expires.
    expiresAt: republish && isPast(read.settings.expiresAt, now) ? undefined : read.settings.expiresAt,
    ...(await secretsOf(parts, before, read.settings, read.password)),
    ...(await editionOf(parts, item, id, before, read.settings, republish, context)),
    publishedBy: republish || before === undefined ? context.actor : before.publishedBy,
    publishedAt: republish || before === undefined ? now : before.publishedAt,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
    updatedBy: context.actor,
  };
  await takeSlug(parts, record, holder, before, now, context);
  const domains =
    read.domains === undefined
      ? await parts.domains.find({ where: { publicationId: id }, limit: MAX_DOMAINS })
      : await claimDomains(parts, record, read.domains, now, context);
  const written =
    before === undefined
      ? context.work.insert(parts.publications, record)
      : replaceChanged(context.work, parts.publications, before, record);
  if (read.settings.allowIndexing && !isListed(read.settings)) {
    const message = 'Search engines list public items only: set visibility to public.';
    context.reply.warnings = [...(context.reply.warnings ?? []), { code: 'not_listed', message }];
  }
  if (written !== before || read.domains !== undefined) {
    publishPublication(context, written, before === undefined ? [] : (input.updateMask ?? []));
  }
  return { record: written, domains, pinnedNow: record.edition !== before?.edition };
}

/** Unpublishes an item and deletes its publication. Returns the time until which its slug is reserved for it. */
export async function unpublish(
  parts: PublicationParts,
  record: PublicationRecord,
  context: CallContext,
): Promise<string> {
  const { work } = context;
  const until = inDays(RESERVED_DAYS, new Date().toISOString());
  for (const slug of await parts.slugs.find({ where: { publicationId: record.id }, limit: MAX_SLUGS })) {
    const { id, tenant, itemId, publicationId } = slug;
    if (slug.state === 'current') {
      work.replace(parts.slugs, slug, { id, tenant, itemId, publicationId, state: 'reserved', until });
    } else work.remove(parts.slugs, slug);
  }
  await dropDomains(parts, record.id, context);
  if (record.edition !== undefined) await forgetEdition(parts, record.edition, work);
  const views = await work.get(parts.views, record.id);
  if (views !== undefined) work.remove(parts.views, views);
  work.remove(parts.publications, record);
  publishPublication(context, { ...record, active: false, version: record.version + 1 }, []);
  return until;
}

const DAY_MS = 86_400_000;

function inDays(days: number, now: string): string {
  return new Date(Date.parse(now) + days * DAY_MS).toISOString();
}

const isPast = (time: string | undefined, now: string): boolean => time !== undefined && time <= now;

const byUntil = (a: SlugRecord, b: SlugRecord): number => Date.parse(a.until ?? '') - Date.parse(b.until ?? '');

const isListed = ({ visibility, allowIndexing }: Settings): boolean => allowIndexing && visibility === 'public';

/** Copies the settings field by field, because `settings` may be a whole record. */
function fieldsOf(settings: Settings): Settings {
  const { visibility, includeChildren, allowIndexing, title, description, imageFileId, theme } = settings;
  const { showToc, showAuthor, allowCopy, allowDownload, analyticsId, mode } = settings;
  return {
    visibility,
    includeChildren,
    allowIndexing,
    title,
    description,
    imageFileId,
    theme,
    showToc,
    showAuthor,
    allowCopy,
    allowDownload,
    analyticsId,
    mode,
  };
}

/**
 * Returns the hash of the password and the key that signs its proofs, which changes with each new password; returns
 * neither if the publication has no password.
 */
async function secretsOf(
  { passwords }: PublicationParts,
  before: PublicationRecord | undefined,
  { visibility }: Settings,
  password: string | null | undefined,
): Promise<Pick<PublicationRecord, 'passwordHash' | 'proofKey'>> {
  if (visibility !== 'password') return {};
  if (typeof password !== 'string') return { passwordHash: before?.passwordHash, proofKey: before?.proofKey };
  return { passwordHash: await passwords.hash(password), proofKey: randomBytes(32).toString('base64') };
}

/** Returns the edition that readers see from now on, and deletes the one pinned before. */
async function editionOf(
  parts: PublicationParts,
  item: PublishTarget,
  id: string,
  before: PublicationRecord | undefined,
  settings: Settings,
  republish: boolean,
  context: CallContext,
): Promise<Pick<PublicationRecord, 'edition'>> {
  const pinned = before?.edition;
  if (settings.mode === 'pinned' && pinned !== undefined && !republish) return { edition: pinned };
  const { includeChildren } = settings;
  const target = { ...item, id, includeChildren, mode: settings.mode, edition: undefined, version: 0 };
  // The new edition is pinned before the old one is deleted, so that equal contents stay stored throughout.
  const edition = settings.mode === 'pinned' ? await pinEdition(parts, target, context) : undefined;
  if (pinned !== undefined) await forgetEdition(parts, pinned, context.work);
  return { edition };
}

/**
 * A slug that an item may take, with its record as it was read; a concurrent change of that record fails the commit.
 */
interface FreeSlug {
  readonly slug: string;
  readonly holder: SlugRecord | undefined;
}

/**
 * Returns the requested slug, else the item's current or reserved one, else a free one derived from the name. Throws
 * `slug_taken`.
 */
async function freeSlug(
  parts: PublicationParts,
  item: PublishTarget,
  before: PublicationRecord | undefined,
  wanted: string | undefined,
  now: string,
  { work }: CallContext,
): Promise<FreeSlug> {
  const findSlug = async (slug: string): Promise<FreeSlug | undefined> => {
    const holder = await work.get(parts.slugs, slug);
    const isFree = holder === undefined || holder.itemId === item.itemId || isPast(holder.until, now);
    return isFree ? { slug, holder } : undefined;
  };
  if (wanted !== undefined) {
    const found = await findSlug(wanted);
    if (found === undefined) throw SlugTaken({ slug: wanted });
    return found;
  }
  if (before !== undefined) return { slug: before.slug, holder: await work.get(parts.slugs, before.slug) };
  const kept = await parts.slugs.find({ where: { itemId: item.itemId, state: 'reserved' }, limit: MAX_SLUGS });
  // The last one, if the item was published and unpublished with several.
  const [reserved] = kept
    .filter(({ until }) => !isPast(until, now))
    .sort(byUntil)
    .reverse();
  if (reserved !== undefined) return { slug: reserved.id, holder: reserved };
  for (const slug of slugCandidates(item.name, item.itemId)) {
    const found = await findSlug(slug);
    if (found !== undefined) return found;
  }
  return { slug: newId().slice(-12), holder: undefined };
}

/** Makes the slug lead to the publication, and the previous slug redirect to it. */
async function takeSlug(
  parts: PublicationParts,
  { id: publicationId, itemId, tenant, slug }: Omit<PublicationRecord, 'version'>,
  holder: SlugRecord | undefined,
  before: PublicationRecord | undefined,
  now: string,
  { work }: CallContext,
): Promise<void> {
  if (before !== undefined && before.slug !== slug) {
    const old = await work.get(parts.slugs, before.slug);
    const former = { id: before.slug, tenant, itemId, publicationId, state: 'former' } as const;
    if (old !== undefined) work.replace(parts.slugs, old, { ...former, until: inDays(REDIRECT_DAYS, now) });
  }
  const current = { id: slug, tenant, itemId, publicationId, state: 'current' } as const;
  if (holder === undefined) work.insert(parts.slugs, current);
  else if (holder.state !== 'current' || holder.publicationId !== publicationId) {
    work.replace(parts.slugs, holder, current);
  }
}

/** Throws `domain_taken` if another publication has proven a domain; a domain that others only claim is free. */
async function requireFreeDomains(
  parts: PublicationParts,
  before: PublicationRecord | undefined,
  domains: readonly string[] | undefined,
  { work }: CallContext,
): Promise<void> {
  for (const domain of domains ?? []) {
    const holder = await work.get(parts.domains, domain);
    if (holder?.status === 'active' && holder.publicationId !== before?.id) throw DomainTaken({ domain });
  }
}
