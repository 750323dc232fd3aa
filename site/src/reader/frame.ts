import { PublicationVisibility } from '@commonplace/proto/resources/v1/publication.js';
import type { ReaderPage } from '@commonplace/proto/resources/v1/reader_service.js';
import { framePolicy } from '../page/policies.js';
import type { Text } from './page.js';
import { type Apart, isBytesHost, type Place } from './parts.js';
import { type FrameAddress, frameDocument, isFramed, withPass } from './view/artifact.js';

/**
 * Returns the address of an artifact's frame. It is on the origin of uploaded content if there is one, otherwise on the
 * page's own origin, where it runs no scripts. For a password-protected publication it is on the page's own origin
 * first, because the cookie is sent only there.
 */
export function frameAddress(
  { item, face }: ReaderPage,
  hosts: Apart,
  { path, shared }: Pick<Place, 'path' | 'shared'>,
): FrameAddress & { readonly origins: string } {
  const own = `${item?.path || '/'}?frame=1`;
  const { contentUrl } = hosts;
  // The token of a share link is sent to no other origin, so artifacts in shared pages run without scripts.
  if (contentUrl === undefined || shared) return { src: own, scripts: false, origins: "'self'" };
  const { origin } = new URL(contentUrl);
  if (face?.visibility === PublicationVisibility.PASSWORD) {
    return { src: own, scripts: isApart(hosts), origins: `'self' ${origin}` };
  }
  return { src: apartAddress(origin, face?.slug ?? '', path), scripts: isApart(hosts), origins: origin };
}

/** Returns whether uploaded content has its own host. */
const isApart = (hosts: Apart): boolean =>
  hosts.contentUrl !== undefined && isBytesHost(hosts, hosts.hostOf(new URL(hosts.contentUrl)));

const apartAddress = (origin: string, slug: string, path: string): string =>
  `${origin}/p/${slug}${path === '' ? '' : `/${encodeURIComponent(path)}`}?frame=1`;

/**
 * Returns the address of the frame on the other origin for a reader who has given the password. It contains a
 * short-lived pass that opens only this frame. Returns undefined if the frame is served on this origin.
 */
export function frameElsewhere(
  { artifact, face }: ReaderPage,
  hosts: Apart,
  { address, path }: Pick<Place, 'address' | 'path'>,
): string | undefined {
  const { contentUrl } = hosts;
  if (contentUrl === undefined || artifact?.pass === undefined || !isFramed(artifact)) return undefined;
  if (!isApart(hosts) || isBytesHost(hosts, address.host)) return undefined;
  return withPass(apartAddress(new URL(contentUrl).origin, face?.slug ?? '', path), artifact.pass);
}

/** Renders the document of a frame: users' code, with a policy that gives it access to nothing. */
export function renderFrame(page: ReaderPage, parts: Apart, { address }: Pick<Place, 'address'>): Text | undefined {
  const { artifact, face } = page;
  if (artifact === undefined || !isFramed(artifact)) return undefined;
  const scripts = isBytesHost(parts, address.host);
  const ancestors = ["'self'", ...new Set(face?.origins)];
  return { policy: framePolicy({ scripts, pictures: "'self'", ancestors }), html: frameDocument(artifact) };
}
