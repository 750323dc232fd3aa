import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import type { FileState } from '../stores/nodes.js';
import type { KnownHost } from './hosts.js';
import type { Shown } from './outline.js';
import { segmentOf } from './slugs.js';

/** Where the pages and files of one publication are, on one host. */
export interface Addresses {
  /** `/p/handbook`, or empty under a domain of its own. */
  readonly base: string;
  /** Of the publication itself: the base, or `/`. */
  readonly home: string;
  /** Of a page, from the root of the host. */
  page(shown: Pick<Shown, 'id' | 'name'>): string;
  /** Of a file's bytes; another one for other bytes. */
  file(shown: Pick<Shown, 'id' | 'name' | 'file'>): string;
}

const READERS = '/p/';

/** `https://wiki.example.com/p/handbook` */
export function publicUrlOf({ origin, prefix }: KnownHost, slug: string): string {
  return `${origin}${prefix}${READERS}${slug}`;
}

/** `headId`: what is published, which is at the base itself. */
export function addressesOn(host: KnownHost, slug: string, headId: string): Addresses {
  const base = host.kind === HostKind.DOMAIN ? '' : `${host.prefix}${READERS}${slug}`;
  const home = base === '' ? '/' : base;
  return {
    base,
    home,
    page: ({ id, name }) => (id === headId ? home : `${base}/${segmentOf(name, id)}`),
    file: ({ id, name, file }) => `${base}/files/${id}/${tagOf(file)}/${encodeURIComponent(name)}`,
  };
}

/** Names the bytes of a file. */
export function tagOf(file: FileState | undefined): string {
  return (file?.revision ?? 'none').replaceAll('-', '').slice(-16);
}
