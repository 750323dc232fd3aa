import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import type { FileState } from '../domain/node.js';
import type { KnownHost } from './hosts.js';
import type { ShownItem } from './outline.js';
import { segmentOf } from './slugs.js';

/** The paths of the pages and files of one publication on one host. */
export interface Addresses {
  /** `/p/handbook`, or empty on a domain of the publication's own. */
  readonly base: string;
  /** Path of the publication itself: the base, or `/`. */
  readonly home: string;
  /** Returns the path of a page, from the root of the host. */
  page(shown: Pick<ShownItem, 'id' | 'name'>): string;
  /** Returns the path of a file's bytes, which changes when the bytes do. */
  file(shown: Pick<ShownItem, 'id' | 'name' | 'file'>): string;
}

const READERS = '/p/';
/** Path prefix of share links; the token follows. */
export const SHARES = '/s/';

/** Returns a URL such as `https://wiki.example.com/p/handbook`. */
export function publicUrlOf({ origin, prefix }: KnownHost, slug: string, readers = READERS): string {
  return `${origin}${prefix}${readers}${slug}`;
}

/** Returns the addresses on a host. `headId` is the id of the published resource, whose address is the base itself. */
export function addressesOn(host: KnownHost, slug: string, headId: string, readers = READERS): Addresses {
  const base = host.kind === HostKind.DOMAIN ? '' : `${host.prefix}${readers}${slug}`;
  const home = base === '' ? '/' : base;
  return {
    base,
    home,
    page: ({ id, name }) => (id === headId ? home : `${base}/${segmentOf(name, id)}`),
    file: ({ id, name, file }) => `${base}/files/${id}/${tagOf(file)}/${encodeURIComponent(name)}`,
  };
}

/** Returns a short tag that identifies the bytes of a file. */
export function tagOf(file: FileState | undefined): string {
  return (file?.revision ?? 'none').replaceAll('-', '').slice(-16);
}
