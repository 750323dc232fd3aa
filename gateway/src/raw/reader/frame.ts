import type { ReaderPage } from '@commonplace/proto/resources/v1/reader_service.js';
import { framePolicy } from '../../pages/policies.js';
import { type FrameAddress, frameDocument, isFramed } from '../../pages/reader/artifact.js';
import type { Text } from './page.js';
import type { Place, ReaderParts } from './parts.js';

/**
 * Where the frame of an artifact's page is: on the origin of users' bytes, where there is one and the publication has
 * an address; else on the page's own, and nothing in it runs.
 */
export function frameAddress(
  { item, face }: ReaderPage,
  { contentUrl }: Pick<ReaderParts, 'contentUrl'>,
  { address, path }: Place,
): FrameAddress & { readonly origin: string } {
  // Under a domain of its own it has none that the origin of users' bytes knows.
  const slug = address.slug || slugOf(face?.url);
  if (contentUrl === undefined || slug === '') {
    return { src: `${item?.path || '/'}?frame=1`, scripts: false, origin: "'self'" };
  }
  const { origin } = new URL(contentUrl);
  const query = address.proof === undefined ? 'frame=1' : `frame=1&proof=${encodeURIComponent(address.proof)}`;
  return { src: `${origin}/p/${slug}${path === '' ? '' : `/${path}`}?${query}`, scripts: true, origin };
}

const slugOf = (url = ''): string => /\/p\/([^/]+)/.exec(url)?.[1] ?? '';

/** What is in the frame: users' code, under a policy that lets it reach nothing. */
export function renderFrame(page: ReaderPage, parts: ReaderParts, { address }: Place): Text | undefined {
  const { artifact, canonicalUrl, face } = page;
  if (artifact === undefined || !isFramed(artifact)) return undefined;
  const { contentUrl, publicUrl } = parts;
  const apart = contentUrl !== undefined && new URL(contentUrl).host !== new URL(publicUrl).host;
  const scripts = apart && new URL(contentUrl).host === address.host;
  const readers = [publicUrl, canonicalUrl, face?.url ?? ''].filter((url) => URL.canParse(url));
  const ancestors = ["'self'", ...new Set(readers.map((url) => new URL(url).origin))];
  return { policy: framePolicy({ scripts, pictures: "'self'", ancestors }), html: frameDocument(artifact) };
}
