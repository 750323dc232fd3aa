import type Router from '@koa/router';

/** Health of the process as probes ask for it. */
export interface Health {
  isReady(): Promise<boolean>;
  /** Returns facts for operators that are shown beside the status. */
  details(): Record<string, unknown>;
}

/** Serves the probes. Liveness does not depend on other services: a failed dependency is no reason to restart. */
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
