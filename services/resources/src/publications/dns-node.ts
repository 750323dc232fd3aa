import { Resolver } from 'node:dns/promises';
import type { DomainQuery, DomainResolver, Found } from './dns.js';

/** Milliseconds that a DNS server has for an answer, and the number of attempts. */
const TIMEOUT_MS = 3000;
const TRIES = 2;

/** Error codes that mean that there is no such record. */
const ABSENT: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/**
 * Creates a resolver that uses the given servers, such as `192.0.2.53` or `[2001:db8::53]:5353`, else the machine's
 * own.
 */
export function createNodeResolver(servers: readonly string[]): DomainResolver {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers([...servers]);

  async function cname({ domain, target }: DomainQuery): Promise<boolean> {
    const names = await orNone(resolver.resolveCname(domain));
    if (names.some((name) => name.toLowerCase().replace(/\.$/, '') === target)) return true;
    const own = await addresses(domain);
    if (own.length === 0) return false;
    const right = new Set(await addresses(target));
    return own.every((address) => right.has(address));
  }

  async function addresses(name: string): Promise<string[]> {
    return [...(await orNone(resolver.resolve4(name))), ...(await orNone(resolver.resolve6(name)))];
  }

  return {
    async lookUp(wanted): Promise<Found> {
      try {
        const texts = await orNone(resolver.resolveTxt(wanted.txtName));
        const txt = texts.some((pieces) => pieces.join('') === wanted.txtValue);
        return { txt, cname: await cname(wanted) };
      } catch (error) {
        return { error: `The DNS query failed: ${codeOf(error)}.` };
      }
    },
  };
}

async function orNone<T>(asked: Promise<T[]>): Promise<T[]> {
  try {
    return await asked;
  } catch (error) {
    if (ABSENT.has(codeOf(error))) return [];
    throw error;
  }
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown';
}
