import type Router from '@koa/router';

/** Reports the health of the process to probes. */
export interface Health {
  isReady(): Promise<boolean>;
  /** Returns facts for operators that are shown next to the status. */
  details(): Record<string, unknown>;
}

/**
 * Serves the probes. Liveness does not depend on other services, because restarting does not help against a failed
 * dependency.
 */
export function mountHealth(router: Router, health: Health): void {
  router.get('/health/live', (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { status: 'ok' };
  });
  router.get('/health/ready', async (ctx) => {
    const ready = await health.isReady();
    ctx.set('Cache-Control', 'no-store');
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? 'ok' : 'not_ready', details: health.details() };
  });
}
