import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './system.js';

export interface DnsRecord {
  readonly name: string;
  readonly type: 'TXT' | 'CNAME' | 'A';
  readonly data: string;
}

/** A DNS server on loopback in a separate process. */
export interface DnsServer {
  /** Address such as `127.0.0.1:53535`. */
  readonly address: string;
  /** Replaces the records that the server serves. */
  set(zone: { readonly records?: readonly DnsRecord[] }): Promise<void>;
  close(): Promise<void>;
}

/** Starts the DNS server that the resources service uses for its tests of domains. */
export async function startDnsServer(): Promise<DnsServer> {
  const file = join(ROOT, 'services/resources/dist/test/dns-server.js');
  const script = (await import(pathToFileURL(file).href)) as { startDnsServer(): Promise<DnsServer> };
  return script.startDnsServer();
}
