import { type Guard, type GuardOptions, openGuard } from './guard.js';

/** Gives the guard for requests that a tenant's configuration causes. */
export interface TenantGuard {
  /** Checks what applies to every tenant. */
  readonly check: Guard['check'];
  /**
   * Returns the guard for a tenant, as the Org's `url_allowlist` narrows it now. It is asked for each request anew and
   * not kept. Rejects if the list cannot be read, so that nothing is called without it.
   */
  of(tenant: string): Promise<Guard>;
  close(): Promise<void>;
}

interface TenantGuardOptions extends GuardOptions {
  /** Returns the `url_allowlist` of an Org; none for Personal tenants. */
  listOf(tenant: string): Promise<readonly string[]>;
}

/** Opens a guard whose requests are also bound by the list of the tenant that causes them. */
export function openTenantGuard({ listOf, ...options }: TenantGuardOptions): TenantGuard {
  const guard = openGuard(options);
  return {
    check: guard.check,
    of: async (tenant) => guard.narrowedTo(await listOf(tenant)),
    close: () => guard.close(),
  };
}
