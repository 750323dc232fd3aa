import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  type InputResponses,
  legacyStatelessFallback,
  Server,
} from '@modelcontextprotocol/server';

/** A tool of a server for tests. */
export interface TestTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Record<string, unknown>;
  call?(args: Record<string, unknown>, asked: TestCall): Promise<unknown> | unknown;
}

export interface TestCall {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly responses: InputResponses | undefined;
  readonly requestState: string | undefined;
}

export interface TestRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly rpc: string | undefined;
  readonly body: string;
}

export interface TestServer {
  readonly url: string;
  readonly origin: string;
  /** Tools that it lists and calls; a test may change them. */
  tools: TestTool[];
  /** Every request that has arrived. */
  readonly requests: TestRequest[];
  /** Answers a request in place of the server; false leaves it to the server. */
  intercept: (request: TestRequest, response: ServerResponse) => boolean | Promise<boolean>;
  close(): Promise<void>;
}

export type Era = 'modern' | 'legacy';

/** Starts an MCP server that speaks one era of the protocol, on loopback. */
export async function startMcpServer(era: Era, tools: TestTool[]): Promise<TestServer> {
  const factory = () => serverOf(() => started.tools);
  const modern = createMcpHandler(factory as never, { legacy: 'reject' });
  const legacy = legacyStatelessFallback(factory as never);
  const handle = (request: Request) => (era === 'modern' ? modern.fetch(request) : legacy(request));
  const requests: TestRequest[] = [];
  const http = createServer((incoming, response) => {
    void answer(incoming, response).catch(() => response.destroy());
  });
  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { method = 'GET', url: path = '/', headers } = incoming;
    const request = { method, path, headers, rpc: methodIn(body), body };
    requests.push(request);
    if (await started.intercept(request, response)) return;
    const answered = await handle(webRequest(started.origin, request));
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    if (answered.body !== null) for await (const piece of answered.body) response.write(piece);
    response.end();
  }
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const started: TestServer = {
    ...{ url: `${origin}/mcp`, origin, tools, requests, intercept: () => false },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return started;
}

function serverOf(tools: () => readonly TestTool[]): Server {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: tools().map(({ name, description, inputSchema = { type: 'object' } }) => ({
      ...{ name, description, inputSchema: inputSchema as { type: 'object' } },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const found = tools().find(({ name }) => name === params.name);
    const { mcpReq } = context as unknown as {
      readonly mcpReq: { readonly _meta?: object; readonly inputResponses?: InputResponses; requestState?(): string };
    };
    const asked: TestCall = {
      meta: (params._meta ?? mcpReq._meta ?? {}) as Record<string, unknown>,
      responses: mcpReq.inputResponses,
      requestState: typeof mcpReq.requestState === 'function' ? mcpReq.requestState() : undefined,
    };
    const result = await found?.call?.((params.arguments ?? {}) as Record<string, unknown>, asked);
    if (typeof result === 'object' && result !== null) return result as CallToolResult | InputRequiredResult;
    return { content: [{ type: 'text', text: String(result ?? 'done') }] };
  });
  return server;
}

function methodIn(body: string): string | undefined {
  try {
    return (JSON.parse(body) as { readonly method?: string }).method;
  } catch {
    return undefined;
  }
}

function webRequest(origin: string, { method, path, headers, body }: TestRequest): Request {
  const given = new Headers();
  for (const [name, value] of Object.entries(headers)) if (typeof value === 'string') given.set(name, value);
  return new Request(origin + path, { method, headers: given, ...(body !== '' && { body }) });
}
