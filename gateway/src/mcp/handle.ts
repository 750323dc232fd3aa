import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { AppError } from '@commonplace/kit/errors';
import { parseJson, readBytes } from '@commonplace/kit/http';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  type McpHttpHandler,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import type { Middleware, ParameterizedContext } from 'koa';
import type { State } from '../middleware/state.js';
import { hasMoreNames } from '../request/names.js';
import { authInfoOf } from './api/caller.js';
import { MCP_PATH, type McpParts } from './serve.js';
import { createServerFactory, fromAuthInfo } from './server.js';

/** Different names of fields in a message; the library looks at each several times. 9,000 took 0.1 s. */
const MAX_NAMES = 1000;

type Ctx = ParameterizedContext<State>;

/** Creates the middleware that handles the requests to the MCP server. */
export function createMcpServer({ settings, routes, send, answers, gates }: McpParts): Middleware<State> {
  const { publicUrl, mcpResultChars: resultChars, mcpWaitSeconds } = settings;
  const waitMs = mcpWaitSeconds * 1000;
  const makeServer = createServerFactory({ routes, send, answers, publicUrl, resultChars, waitMs });
  // The tools of a credential never change, so clients have nothing to subscribe to.
  const handler = createMcpHandler(fromAuthInfo(makeServer), { maxSubscriptions: 0 });
  const own = [new URL(publicUrl).hostname, ...localhostAllowedHostnames()];
  const hosts = [...own, ...settings.mcpHosts];
  const origins = [...own, ...settings.mcpOrigins];
  return async (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    const request = new Request(new URL(MCP_PATH, publicUrl), { method: ctx.method, headers: headersOf(ctx) });
    // Protects against DNS rebinding: a page of another site whose name resolves to this server is refused here.
    const refusal = hostHeaderValidationResponse(request, hosts) ?? originValidationResponse(request, origins);
    if (refusal !== undefined) return respond(ctx, refusal);
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST');
      return respond(ctx, await handler.fetch(request));
    }
    requireBearer(ctx);
    const serve = async () => answer(ctx, handler, settings.mcpBodyBytes);
    await gates.reduceRight<() => Promise<unknown>>((inner, gate) => async () => gate(ctx as never, inner), serve)();
  };
}

/** Refuses cookies, because a page in a browser must not use its reader's session here. */
function requireBearer(ctx: Ctx): void {
  if (ctx.req.headers.authorization === undefined) {
    throw new AppError(
      'UNAUTHENTICATED',
      'missing_credentials',
      'Send an API key or a token as "Authorization: Bearer …".',
    );
  }
}

async function answer(ctx: Ctx, handler: McpHttpHandler, limit: number): Promise<void> {
  const message = await readMessage(ctx, limit);
  if (message instanceof Response) return respond(ctx, message);
  const gone = new AbortController();
  ctx.res.once('close', () => ctx.res.writableFinished || gone.abort());
  const { caller } = ctx.state.admitted;
  const authInfo = authInfoOf({
    caller,
    headers: ctx.req.headers,
    remoteAddress: ctx.req.socket.remoteAddress ?? '',
    requestId: ctx.state.requestId,
    traceparent: ctx.state.traceparent,
    signal: gone.signal,
  });
  const request = new Request(new URL(MCP_PATH, 'http://mcp'), {
    method: 'POST',
    headers: headersOf(ctx),
    signal: gone.signal,
  });
  return respond(ctx, await handler.fetch(request, { parsedBody: message, authInfo }));
}

/** Reads a JSON-RPC message. Returns the protocol's error if the body is too large, is not JSON, or is a batch. */
async function readMessage(ctx: Ctx, limit: number): Promise<unknown> {
  const length = Number(ctx.req.headers['content-length'] ?? 0);
  const tooLarge = () => rpcError(413, -32600, `A message has at most ${limit} bytes (COMMONPLACE_MCP_BODY_BYTES).`);
  if (length > limit) return tooLarge();
  let body: Buffer;
  try {
    body = await readBytes(ctx.req, limit);
  } catch (error) {
    if ((error as { type?: string }).type === 'entity.too.large') return tooLarge();
    if (error instanceof AppError) return rpcError(400, -32700, `Parse error: ${error.message}`);
    return rpcError(400, -32700, 'Parse error: the body ended before it was complete.');
  }
  try {
    const message = parseJson(body.toString('utf8'));
    if (hasMoreNames(message, MAX_NAMES)) {
      return rpcError(
        400,
        -32600,
        `Invalid request: a message may have at most ${MAX_NAMES} different names of fields.`,
      );
    }
    if (Array.isArray(message)) return rpcError(400, -32600, 'Invalid request: batches are not part of the protocol.');
    return message;
  } catch (error) {
    return rpcError(400, -32700, `Parse error: ${(error as AppError).message}`);
  }
}

function rpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

function headersOf({ req }: Ctx): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) if (typeof value === 'string') headers.set(name, value);
  return headers;
}

/** Sends the answer of the MCP library: JSON, or a stream of server-sent events. */
async function respond(ctx: Ctx, response: Response): Promise<void> {
  ctx.status = response.status;
  for (const [name, value] of response.headers) ctx.set(name, value);
  if (response.body === null) {
    ctx.body = null;
    ctx.status = response.status;
    return;
  }
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream) {
    ctx.set('X-Accel-Buffering', 'no');
    ctx.body = Readable.fromWeb(response.body as ReadableStream);
    return;
  }
  ctx.body = Buffer.from(await response.arrayBuffer());
}
