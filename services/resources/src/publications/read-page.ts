import { fingerprint } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import {
  ReaderFormat,
  ReaderPage,
  type ReadPageRequest,
  type ReadPageResponse,
} from '@commonplace/proto/resources/v1/reader_service.js';
import { bodyOf, withoutPasses } from './bodies.js';
import { addressesOf, canonicalOf, faceOf, itemOf, themeOf } from './face.js';
import { childrenOf, navigationOf } from './navigation.js';
import { openAddress } from './open.js';
import type { OpenedPublication, Opening } from './opening.js';
import type { ShownItem } from './outline.js';
import type { PublicationParts } from './parts.js';
import { opensBy } from './proofs.js';
import { idIn } from './slugs.js';

/** Returns one page of a publication, a redirect to it, or the reason why there is none. */
export async function readPage(
  parts: PublicationParts,
  request: ReadPageRequest,
  context: CallContext,
): Promise<ReadPageResponse> {
  const opening = await openAddress(parts, request.address, context);
  const { revision } = opening;
  if (opening.kind === 'moved') {
    const below = request.path === '' ? '' : `/${request.path.split('/').map(encodeURIComponent).join('/')}`;
    return { ...NONE, revision, redirect: { location: opening.location + below } };
  }
  if (opening.kind !== 'open' && !isPassed(opening, request)) {
    return { ...NONE, revision, ...closedOutcome(opening) };
  }
  const { opened } = opening;
  const asMarkdown = request.format === ReaderFormat.MARKDOWN;
  if (asMarkdown && !opened.publication.allowCopy) {
    return { ...NONE, revision, missing: { gone: false, refused: true } };
  }
  const found = shownAt(opened, request.path);
  if (found === undefined) return { ...NONE, revision, missing: { gone: false, refused: false } };
  const addresses = addressesOf(opened);
  const path = found.shown === undefined ? addresses.home : addresses.page(found.shown);
  if (!found.exact) {
    return { ...NONE, revision, redirect: { location: `${opened.host.origin}${path}` } };
  }
  return { ...NONE, revision, page: await pageOf(parts, opened, found.shown, path, request, asMarkdown, context) };
}

/**
 * Returns whether the request has a valid pass for this page: a frame has no cookie, and its pass opens no other page.
 */
function isPassed(
  opening: Exclude<Opening, { kind: 'open' }>,
  { address, path }: ReadPageRequest,
): opening is LockedOpening {
  if (opening.kind !== 'password') return false;
  const { opened } = opening;
  const shown = shownAt(opened, path)?.shown;
  return shown !== undefined && opensBy(opened.publication, `frame ${shown.id}`, address?.pass, Date.now());
}

type LockedOpening = Extract<Opening, { kind: 'password' }>;

const NONE = { page: undefined, redirect: undefined, passwordRequired: undefined, missing: undefined };

/** Returns the response for an address that may not be read. */
export function closedOutcome(opening: Exclude<Opening, { kind: 'open' }>) {
  if (opening.kind !== 'password') {
    const { gone, signIn } = opening.kind === 'missing' ? opening : { gone: false, signIn: undefined };
    return { missing: { gone, refused: false, signIn } };
  }
  const { opened } = opening;
  const theme = themeOf(opened.publication);
  return { passwordRequired: { path: addressesOf(opened).home, theme, language: opened.terms.locale || 'en' } };
}

/** Returns the page at a path. `exact` is false if the path contains a former name of the page. */
function shownAt(
  opened: OpenedPublication,
  path: string,
): { readonly shown: ShownItem | undefined; readonly exact: boolean } | undefined {
  const { outline } = opened;
  if (path === '') return { shown: outline.head, exact: true };
  const end = idIn(path);
  const shown = end === undefined ? undefined : outline.byEnd.get(end);
  if (shown === undefined || shown.attachment) return undefined;
  const addresses = addressesOf(opened);
  return { shown, exact: addresses.page(shown) === `${addresses.base}/${path}` };
}

async function pageOf(
  parts: PublicationParts,
  opened: OpenedPublication,
  shown: ShownItem | undefined,
  path: string,
  { offset, limit }: ReadPageRequest,
  asMarkdown: boolean,
  context: CallContext,
): Promise<ReaderPage> {
  const addresses = addressesOf(opened);
  const canonicalUrl = canonicalOf(parts, opened, addresses, path);
  const format = asMarkdown ? 'markdown' : 'html';
  const prefix = asMarkdown ? opened.host.origin : '';
  const terms = { opened, addresses, format, offset, limit, prefix } as const;
  const body = await bodyOf(parts, shown, terms, context);
  const page: ReaderPage = {
    ...NO_BODY,
    face: await faceOf(parts, opened),
    ...navigationOf(opened, shown),
    item: itemOf(opened, shown, path),
    below: 'folder' in body ? undefined : childrenOf(opened, shown, { offset: 0, limit }),
    etag: '',
    canonicalUrl,
    indexed: opened.publication.listed,
    ...body,
  };
  const same = page.artifact === undefined ? page : { ...page, artifact: withoutPasses(page.artifact) };
  return { ...page, etag: fingerprint(format, Buffer.from(ReaderPage.encode(same).finish())).slice(0, 22) };
}

const NO_BODY = { document: undefined, table: undefined, artifact: undefined, folder: undefined, file: undefined };
