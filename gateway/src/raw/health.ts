import type Router from '@koa/router';
import type { Context } from 'koa';

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
    answer(ctx, { status: 'ok' });
  });
  router.get('/health/ready', async (ctx) => {
    const ready = await health.isReady();
    ctx.status = ready ? 200 : 503;
    answer(ctx, { status: ready ? 'ok' : 'not_ready', details: health.details() });
  });
}

/** Answers with JSON as a text. For an object, Koa would load Node's implementation of `fetch`, which nothing else needs. */
function answer(ctx: Context, health: object): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.type = 'json';
  ctx.body = JSON.stringify(health);
}
