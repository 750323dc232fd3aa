// Serves as the limit for an HTTP server: Koa with one route and no gates. Its answers are prepared, or one call away.
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import type { LimitFile } from './limit.js';
import { openReader } from './reader-call.js';

const { method, path, status, answers, port, reader } = JSON.parse(
  readFileSync(process.env.LIMIT_FILE ?? '', 'utf8'),
) as LimitFile;
const read = reader === undefined ? undefined : openReader(reader);
let turn = 0;

const router = new Router();
router.register(path, [method], async (ctx) => {
  if (method === 'POST') JSON.parse(await bodyOf(ctx.req));
  ctx.status = status;
  ctx.type = 'application/json';
  ctx.body = read === undefined ? answers[turn++ % answers.length] : await read(ctx.params.id ?? '');
});

const app = new Koa();
app.use(router.routes());
app.listen(port, '127.0.0.1', () => console.log('ready'));

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
