import { randomUUID } from 'node:crypto';
import { IndexFailure } from '../port.js';
import type { Server } from './client.js';
import { both, type Filter } from './filter.js';

/** A lease on rebuilding, which one process of an installation holds at a time. */
interface Lock {
  /** Throws `IndexFailure` once another process holds the lease. */
  check(): void;
  release(): Promise<void>;
}

/** Milliseconds that the lease lasts without renewal; clocks must differ by less. */
const LEASE_MS = 60_000;
const RENEWAL_INTERVAL_MS = 15_000;
const ID = 'rebuild';

/** Acquires the lease. Rejects with `IndexFailure` while another process holds it. */
export async function takeLock(server: Server, collection: string): Promise<Lock> {
  const holder = randomUUID().replaceAll('-', '');
  const mine = both(`id:[${ID}]` as Filter, `holder:[${holder}]` as Filter);
  const document = () => ({ id: ID, until: Date.now() + LEASE_MS, holder });
  await server.deleteWhere(collection, both(`id:[${ID}]` as Filter, `until:<${Date.now()}` as Filter));
  const [line] = await server.write(collection, 'create', [document()]);
  if (line !== 'ok') throw new IndexFailure('another rebuild is running');
  let lost = false;

  async function renew(): Promise<void> {
    const [found] = await server.search([{ collection, q: '*', filter_by: mine, per_page: 0 }]);
    if (found?.found !== 1) lost = true;
    else await server.write(collection, 'update', [document()]);
  }
  const timer = setInterval(() => {
    // The next renewal makes up for a failed one, or the lease ends.
    renew().catch(() => {});
  }, RENEWAL_INTERVAL_MS);
  timer.unref();

  return {
    check() {
      if (lost) throw new IndexFailure('another process has begun a rebuild');
    },
    async release() {
      clearInterval(timer);
      await server.deleteWhere(collection, mine);
    },
  };
}
