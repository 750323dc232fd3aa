import type Router from '@koa/router';

/** What a probe asks: whether the process runs, and whether it takes requests. */
export interface Health {
  isReady(): Promise<boolean>;
}

/** Liveness says nothing about others: a dependency that is down is no reason to restart. */
export function mountHealth(router: Router, health: Health): void {
  router.get('/health/live', (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { status: 'ok' };
  });
  router.get('/health/ready', async (ctx) => {
    const ready = await health.isReady();
    ctx.set('Cache-Control', 'no-store');
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? 'ok' : 'not_ready' };
  });
}
