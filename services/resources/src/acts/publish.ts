import { randomBytes } from 'node:crypto';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { DomainTaken, SlugTaken } from '../errors.js';
import { publishPublication } from '../events.js';
import type { Parts } from '../parts.js';
import { claimDomains, dropDomains, isLapsed } from '../publications/domains.js';
import { requireImage } from '../publications/images.js';
import { DEFAULTS, type PublicationInput, readInput, type Settings } from '../publications/input.js';
import { DOMAINS } from '../publications/open.js';
import { forgetEdition, pinEdition } from '../publications/pins.js';
import { REDIRECT_DAYS, RESERVED_DAYS, requireSlug, slugCandidates } from '../publications/slugs.js';
import { type DomainRecord, type PublicationRecord, SLUGS, type SlugRecord } from '../stores/publications.js';

/** What is published: a resource or a workspace, with what has to be known of it. */
export interface Published {
  readonly itemId: string;
  readonly kind: PublicationRecord['kind'];
  readonly tenant: string;
  readonly workspaceId: string;
  readonly boundary: string;
  readonly name: string;
}

export interface Written {
  readonly record: PublicationRecord;
  readonly domains: readonly DomainRecord[];
  /** This call has kept the pages that it shows. */
  readonly pinnedNow: boolean;
}

export interface PublishOptions {
  /** Pins the item as it is now, and makes it active: not for a change of settings alone. */
  readonly republish: boolean;
  /** False: taken back from readers. */
  readonly active: boolean;
  /** What is asked of the state of things, once the request itself is in order. */
  readonly state: () => Promise<void>;
}

/** Publishes an item, or changes how it is published. All checks of the request are made before anything is written. */
export async function publish(
  parts: Parts,
  item: Published,
  before: PublicationRecord | undefined,
  input: PublicationInput,
  { republish, active, state }: PublishOptions,
  context: CallContext,
): Promise<Written> {
  const now = new Date().toISOString();
  const read = readInput(input, before ?? DEFAULTS, now, parts.hosts.own);
  const wantedSlug = input.slug === undefined ? undefined : requireSlug(input.slug);
  if (input.updateMask?.includes('image_file_id')) await requireImage(parts, item, read.settings.imageFileId, context);
  await state();
  const { slug, holder } = await freeSlug(parts, item, before, wantedSlug, now, context);
  const holders = await requireFreeDomains(parts, before, read.domains, now, context);

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
    // What has expired is active again when it is published again, and nobody says until when.
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
      ? await parts.domains.find({ where: { publicationId: id }, limit: DOMAINS })
      : await claimDomains(parts, record, read.domains, holders, now, context);
  const written =
    before === undefined
      ? context.work.insert(parts.publications, record)
      : context.work.replace(parts.publications, before, record);
  if (read.settings.allowIndexing && !isListed(read.settings)) {
    const message = 'Search engines list only what is public: set visibility to public.';
    context.reply.warnings = [...(context.reply.warnings ?? []), { code: 'not_listed', message }];
  }
  publishPublication(context, written, before === undefined ? [] : (input.updateMask ?? []));
  return { record: written, domains, pinnedNow: record.edition !== before?.edition };
}

/** Takes an item back from its readers for good. Gives until when its slug is kept for it. */
export async function unpublish(parts: Parts, record: PublicationRecord, context: CallContext): Promise<string> {
  const { work } = context;
  const until = inDays(RESERVED_DAYS, new Date().toISOString());
  for (const slug of await parts.slugs.find({ where: { publicationId: record.id }, limit: SLUGS })) {
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

const isListed = ({ visibility, allowIndexing }: Settings): boolean => allowIndexing && visibility === 'public';

/** Field by field: what a record before had besides is no setting. */
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

/** The hash of the password, and the key of its proofs, which a new password makes anew; neither without a password. */
async function secretsOf(
  { passwords }: Parts,
  before: PublicationRecord | undefined,
  { visibility }: Settings,
  password: string | null | undefined,
): Promise<Pick<PublicationRecord, 'passwordHash' | 'proofKey'>> {
  if (visibility !== 'password') return {};
  if (typeof password !== 'string') return { passwordHash: before?.passwordHash, proofKey: before?.proofKey };
  return { passwordHash: await passwords.hash(password), proofKey: randomBytes(32).toString('base64') };
}

/** The edition that readers see from now on; what was pinned before is forgotten. */
async function editionOf(
  parts: Parts,
  item: Published,
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
  // Before the old one goes, so that equal contents are kept throughout.
  const edition = settings.mode === 'pinned' ? await pinEdition(parts, target, context) : undefined;
  if (pinned !== undefined) await forgetEdition(parts, pinned, context.work);
  return { edition };
}

/** A slug that an item may have, and the record of it as it was looked at: what became of it since is a lost race. */
interface FreeSlug {
  readonly slug: string;
  readonly holder: SlugRecord | undefined;
}

/** The slug asked for, else the one it has, else a free one of the name. Throws `slug_taken`. */
async function freeSlug(
  parts: Parts,
  item: Published,
  before: PublicationRecord | undefined,
  wanted: string | undefined,
  now: string,
  { work }: CallContext,
): Promise<FreeSlug> {
  const look = async (slug: string): Promise<FreeSlug | undefined> => {
    const holder = await work.get(parts.slugs, slug);
    const isFree = holder === undefined || holder.itemId === item.itemId || isPast(holder.until, now);
    return isFree ? { slug, holder } : undefined;
  };
  if (wanted !== undefined) {
    const found = await look(wanted);
    if (found === undefined) throw SlugTaken({ slug: wanted });
    return found;
  }
  if (before !== undefined) return { slug: before.slug, holder: await work.get(parts.slugs, before.slug) };
  const kept = await parts.slugs.find({ where: { itemId: item.itemId, state: 'reserved' }, limit: SLUGS });
  const reserved = kept.find(({ until }) => !isPast(until, now));
  if (reserved !== undefined) return { slug: reserved.id, holder: reserved };
  for (const slug of slugCandidates(item.name, item.itemId)) {
    const found = await look(slug);
    if (found !== undefined) return found;
  }
  return { slug: newId().slice(-12), holder: undefined };
}

/** Makes the slug lead to the publication, and the one before lead on. */
async function takeSlug(
  parts: Parts,
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

/**
 * A domain that another publication has, or may still prove to be its own, is taken. Gives the records of the others
 * as they were looked at.
 */
async function requireFreeDomains(
  parts: Parts,
  before: PublicationRecord | undefined,
  domains: readonly string[] | undefined,
  now: string,
  { work }: CallContext,
): Promise<ReadonlyMap<string, DomainRecord>> {
  const holders = new Map<string, DomainRecord>();
  for (const domain of domains ?? []) {
    const holder = await work.get(parts.domains, domain);
    if (holder === undefined) continue;
    holders.set(domain, holder);
    if (holder.publicationId !== before?.id && !isLapsed(holder, now)) throw DomainTaken({ domain });
  }
  return holders;
}
