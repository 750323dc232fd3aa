import type { Collection } from '@commonplace/kit/store';
import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import { hostNameOf } from './domain-names.js';
import type { DomainRecord } from './records.js';

/** The meaning of a Host header. Addresses are built from `origin`, never from what the client sent. */
export interface KnownHost {
  readonly kind: HostKind;
  /** `https://docs.example.com`, without a trailing slash. */
  readonly origin: string;
  /** Path prefix of everything on the host: empty, or `/wiki`. */
  readonly prefix: string;
  /** Id of the publication that owns the domain. */
  readonly publicationId?: string;
}

export interface Hosts {
  /** Returns the host for a Host header; undefined for hosts that are not served. */
  of(header: string): Promise<KnownHost | undefined>;
  /** The host of the public URL. */
  readonly open: KnownHost;
  /** Names that publications cannot claim as domains. */
  readonly own: readonly string[];
  /** Host name that a CNAME has to point to. */
  readonly target: string;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export function createHosts(
  domains: Collection<DomainRecord>,
  { publicUrl, contentUrl }: { readonly publicUrl: string; readonly contentUrl: string | undefined },
): Hosts {
  const open = ownHost(HostKind.PUBLIC, publicUrl);
  const content = contentUrl === undefined ? undefined : ownHost(HostKind.CONTENT, contentUrl);

  return {
    open: known(open),
    target: open.name,
    own: [open.name, ...(content === undefined ? [] : [content.name])],
    async of(header) {
      const own = content === undefined ? [open] : [open, content];
      // Where both URLs are on a loopback address, their names alone tell them apart.
      const named = own.find((one) => one.isNamedBy(header)) ?? own.find((one) => one.equals(header));
      if (named !== undefined) return known(named);
      const name = hostNameOf(header);
      const domain = name === undefined ? undefined : await domains.get(name);
      if (domain?.status !== 'active') return undefined;
      return {
        kind: HostKind.DOMAIN,
        origin: originOfDomain(domain.id, open),
        prefix: '',
        publicationId: domain.publicationId,
      };
    },
  };
}

/** Returns the origin of a publication's own domain, with the scheme and port of the server itself. */
export function originOfDomain(domain: string, { origin }: Pick<KnownHost, 'origin'>): string {
  const { protocol, port } = new URL(origin);
  return `${protocol}//${domain}${port === '' ? '' : `:${port}`}`;
}

const known = ({ kind, origin, prefix }: KnownHost): KnownHost => ({ kind, origin, prefix });

function ownHost(kind: HostKind, url: string) {
  const { origin, host, hostname, port, pathname } = new URL(url);
  const name = hostname.toLowerCase();
  return {
    kind,
    origin,
    prefix: pathname.replace(/\/+$/, ''),
    name,
    isNamedBy: (header: string): boolean => header.toLowerCase() === host,
    /**
     * Returns whether a header means this host by another name of the loopback address. Compares the port too, because
     * two of the server's URLs may differ only by port.
     */
    equals(header: string): boolean {
      const given = header.toLowerCase();
      return LOOPBACK.has(name) && LOOPBACK.has(hostNameOf(given) ?? '') && given.split(':').at(-1) === port;
    },
  };
}
