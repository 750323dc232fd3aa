import type { Collection } from '@commonplace/kit/store';
import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import type { DomainRecord } from '../stores/publications.js';
import { hostNameOf } from './domain-names.js';

/** What a Host header stands for. Addresses are made of `origin`, which is never what the client sent. */
export interface KnownHost {
  readonly kind: HostKind;
  /** `https://docs.example.com`, without a slash at its end. */
  readonly origin: string;
  /** Path behind it below which everything lies: empty, or `/wiki`. */
  readonly prefix: string;
  /** Of a domain: whose it is. */
  readonly publicationId?: string;
}

export interface Hosts {
  /** Undefined for hosts that nobody is answered under. */
  of(header: string): Promise<KnownHost | undefined>;
  /** That of the public URL. */
  readonly open: KnownHost;
  /** Names that no publication can have. */
  readonly own: readonly string[];
  /** What a CNAME has to name. */
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
      if (content?.answers(header)) return known(content);
      if (open.answers(header)) return known(open);
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

/** A publication's own domain is reached as the server itself is: by the same scheme, and at the same port. */
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
    /** Ports count, for two of the server's URLs may differ by them alone; a machine has several names for itself. */
    answers(header: string): boolean {
      const given = header.toLowerCase();
      if (given === host) return true;
      return LOOPBACK.has(name) && LOOPBACK.has(hostNameOf(given) ?? '') && given.split(':').at(-1) === port;
    },
  };
}
