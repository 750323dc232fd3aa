import type { PublicationFace, ReaderEntry, ReaderItem } from '@commonplace/proto/resources/v1/reader_service.js';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { TYPES } from '../wire.js';
import { type Addresses, addressesOn, publicUrlOf, SHARES } from './addresses.js';
import { originOfDomain } from './hosts.js';
import { imageOf } from './images.js';
import type { OpenedPublication } from './opening.js';
import type { Entry, ShownItem } from './outline.js';
import type { PublicationParts } from './parts.js';
import { VISIBILITIES } from './wire.js';

/** Returns the addresses of an opened publication on the host of the request. */
export function addressesOf({
  host,
  publication,
  shared,
}: Pick<OpenedPublication, 'host' | 'publication' | 'shared'>): Addresses {
  return addressesOn(host, publication.slug, publication.itemId, shared ? SHARES : undefined);
}

/** Returns the absolute URL of a publication; its own domain takes precedence over the public URL. */
function homeOf(
  parts: PublicationParts,
  { publication, domains, shared }: Pick<OpenedPublication, 'publication' | 'domains' | 'shared'>,
): string {
  if (shared) return publicUrlOf(parts.hosts.open, publication.slug, SHARES);
  const [domain] = domains;
  if (domain === undefined) return publicUrlOf(parts.hosts.open, publication.slug);
  return originOfDomain(domain, parts.hosts.open);
}

/** Returns the canonical absolute URL of a path on this host. */
export function canonicalOf(
  parts: PublicationParts,
  opened: Pick<OpenedPublication, 'publication' | 'domains' | 'shared'>,
  { base, home }: Addresses,
  path: string,
): string {
  const below = path === home ? '' : path.slice(base.length);
  const url = homeOf(parts, opened);
  return below === '' && opened.domains.length > 0 ? `${url}/` : url + below;
}

/** Returns the title of a publication, else the name of its resource or workspace. */
function titleOf({
  publication,
  outline,
  terms,
}: Pick<OpenedPublication, 'publication' | 'outline' | 'terms'>): string {
  return publication.title ?? outline.head?.name ?? terms.workspaceName;
}

export async function faceOf(parts: PublicationParts, opened: OpenedPublication): Promise<PublicationFace> {
  const { publication, outline, terms } = opened;
  const addresses = addressesOf(opened);
  const image = await imageOf(parts, publication, terms.workspaceId);
  const imagePath = image === undefined ? '' : addresses.file(image);
  return {
    id: publication.id,
    title: titleOf(opened),
    description: publication.description ?? outline.head?.description ?? '',
    imagePath,
    imageUrl: image === undefined ? '' : canonicalOf(parts, opened, addresses, imagePath),
    theme: themeOf(publication),
    showToc: publication.showToc,
    showAuthor: publication.showAuthor,
    allowCopy: publication.allowCopy,
    allowDownload: publication.allowDownload,
    allowIndexing: publication.listed,
    visibility: VISIBILITIES[publication.visibility],
    url: canonicalOf(parts, opened, addresses, addresses.home),
    basePath: addresses.base,
    language: terms.locale || 'en',
    publishedAt: publication.publishedAt,
    updatedAt: [publication.updatedAt, outline.updatedAt ?? publication.updatedAt].sort().at(-1),
    slug: publication.slug,
    origins: [parts.hosts.open.origin, ...opened.domains.map((domain) => originOfDomain(domain, parts.hosts.open))],
  };
}

const THEMES: ReadonlySet<string> = new Set(['light', 'dark']);

export function themeOf({ theme = '' }: { readonly theme?: string | undefined }): string {
  return THEMES.has(theme) ? theme : 'auto';
}

/** Returns the publication itself as the first entry of its tree. */
export function homeEntry(opened: OpenedPublication): ReaderEntry {
  const { outline, publication, terms } = opened;
  const { head } = outline;
  return {
    id: head?.id ?? '',
    type: head === undefined ? ResourceType.UNSPECIFIED : TYPES[head.type],
    name: titleOf({ publication, outline, terms }),
    icon: head?.icon ?? '',
    path: addressesOf(opened).home,
    depth: 0,
    parentId: '',
    updatedAt: head?.updatedAt ?? publication.updatedAt,
  };
}

export function entryOf({ shown, depth }: Entry, { page }: Addresses): ReaderEntry {
  return {
    id: shown.id,
    type: TYPES[shown.type],
    name: shown.name,
    icon: shown.icon ?? '',
    path: page(shown),
    depth,
    // A workspace has no entry with its id.
    parentId: shown.parentKey === shown.node.workspaceId ? '' : shown.parentKey,
    updatedAt: shown.updatedAt,
  };
}

export function itemOf(opened: OpenedPublication, shown: ShownItem | undefined, path: string): ReaderItem {
  const { publication, outline } = opened;
  if (shown === undefined) {
    const { createdAt, updatedAt, description = '' } = publication;
    const type = ResourceType.UNSPECIFIED;
    const name = titleOf(opened);
    return { id: '', type, name, icon: '', description, path, createdAt, updatedAt, author: '', contentVersion: 0 };
  }
  return {
    id: shown.id,
    type: TYPES[shown.type],
    name: shown === outline.head ? titleOf(opened) : shown.name,
    icon: shown.icon ?? '',
    description: shown.description ?? '',
    path,
    createdAt: shown.createdAt,
    updatedAt: shown.updatedAt,
    author: publication.showAuthor ? shown.updatedBy.name : '',
    contentVersion: shown.contentVersion,
  };
}
