import { AppError } from '@commonplace/kit/errors';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { answerErrors } from '../src/middleware/errors.js';
import type { State } from '../src/middleware/state.js';
import { openHttpServer } from '../src/server.js';

const refusal = (details: Record<string, unknown>) =>
  new AppError('UNAUTHENTICATED', 'invalid_credentials', 'The caller token is not valid.', { details });

/** Returns what a client gets for an error. */
async function answerTo(error: AppError): Promise<readonly unknown[]> {
  const app = new Koa<State>();
  app.silent = true;
  app.use((ctx, next) => {
    Object.assign(ctx.state, { requestId: 'req_a' });
    return next();
  });
  const ignore = { note() {} };
  const log = { error() {} } as never;
  app.use(answerErrors({ publicUrl: 'http://localhost', denials: ignore, refusals: ignore, log }));
  app.use(() => {
    throw error;
  });
  const server = await openHttpServer(app as Koa, '127.0.0.1', 0);
  try {
    const { status, headers, ...answer } = await fetch(`http://127.0.0.1:${server.port}/`).then(async (got) => ({
      status: got.status,
      headers: got.headers,
      body: (await got.json()) as { error: { code: string; retryable: boolean; details: unknown } },
    }));
    const { code, retryable, details } = answer.body.error;
    return [status, code, retryable, headers.get('retry-after'), headers.has('www-authenticate'), details];
  } finally {
    await server.close(0);
  }
}

test('a caller token that expired within the system is no refusal of the credential', async () => {
  const passing = [503, 'service_unavailable', true, '1', false, {}];
  expect(await answerTo(refusal({ caller_token: 'expired' }))).toEqual(passing);
  expect(await answerTo(refusal({}))).toEqual([401, 'invalid_credentials', false, null, true, {}]);
});
