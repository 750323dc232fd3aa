import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Zone } from './dns-main.js';

export interface DnsServer {
  /** `127.0.0.1:53535` */
  readonly address: string;
  set(zone: Partial<Zone>): Promise<void>;
  close(): Promise<void>;
}

/** Starts a DNS server in a process of its own, on loopback. */
export async function startDnsServer(): Promise<DnsServer> {
  const child = fork(fileURLToPath(new URL('./dns-main.js', import.meta.url)), { execArgv: [] });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    address: `127.0.0.1:${port}`,
    async set(zone) {
      child.send({ records: [], broken: [], silent: [], ...zone });
      await once(child, 'message');
    },
    async close() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}
