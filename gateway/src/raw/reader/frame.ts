import { PublicationVisibility } from '@commonplace/proto/resources/v1/publication.js';
import type { ReaderPage } from '@commonplace/proto/resources/v1/reader_service.js';
import { framePolicy } from '../../pages/policies.js';
import { type FrameAddress, frameDocument, isFramed, withPass } from '../../pages/reader/artifact.js';
import type { Text } from './page.js';
import { type Apart, isBytesHost, type Place } from './parts.js';

/**
 * Where the frame of an artifact's page is: on the origin of users' bytes, where there is one; else on the page's own,
 * and nothing in it runs. Of what has a password it is asked for on the page's own first, where the cookie comes.
 */
export function frameAddress(
  { item, face }: ReaderPage,
  hosts: Apart,
  { path }: Pick<Place, 'path'>,
): FrameAddress & { readonly origins: string } {
  const own = `${item?.path || '/'}?frame=1`;
  const { contentUrl } = hosts;
  if (contentUrl === undefined) return { src: own, scripts: false, origins: "'self'" };
  const { origin } = new URL(contentUrl);
  if (face?.visibility === PublicationVisibility.PASSWORD) {
    return { src: own, scripts: isApart(hosts), origins: `'self' ${origin}` };
  }
  return { src: apartAddress(origin, face?.slug ?? '', path), scripts: isApart(hosts), origins: origin };
}

/** Whether users' bytes have a host of their own. */
const isApart = (hosts: Apart): boolean =>
  hosts.contentUrl !== undefined && isBytesHost(hosts, hosts.hostOf(new URL(hosts.contentUrl)));

const apartAddress = (origin: string, slug: string, path: string): string =>
  `${origin}/p/${slug}${path === '' ? '' : `/${encodeURIComponent(path)}`}?frame=1`;

/**
 * Where whoever has given the password finds the frame: its address holds what opens it alone, and not for long.
 * Undefined where it is here.
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

/** What is in the frame: users' code, under a policy that lets it reach nothing. */
export function renderFrame(page: ReaderPage, parts: Apart, { address }: Pick<Place, 'address'>): Text | undefined {
  const { artifact, face } = page;
  if (artifact === undefined || !isFramed(artifact)) return undefined;
  const scripts = isBytesHost(parts, address.host);
  const ancestors = ["'self'", ...new Set(face?.origins)];
  return { policy: framePolicy({ scripts, pictures: "'self'", ancestors }), html: frameDocument(artifact) };
}
