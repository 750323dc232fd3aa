import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

export interface McpTool {
  readonly name: string;
  readonly description: string;
  /**
   * Returns the text that answers a call; undefined for a tool that does nothing. `key` is the call's idempotency key.
   */
  call?(args: Readonly<Record<string, unknown>>, key: string): string | Promise<string>;
  /** A PNG in Base64 that a call answers in addition to its text. */
  readonly image?: string;
  /** The schema of the tool's arguments. By default it accepts any object. */
  readonly inputSchema?: { readonly type: 'object'; readonly properties: Record<string, Record<string, string>> };
}

/** A running MCP server on this machine. */
export interface RunningMcpServer {
  readonly url: string;
  tools: readonly McpTool[];
  /** Received values of the header `Authorization`. */
  readonly authorizations: Set<string>;
  stop(): Promise<void>;
}

export async function startMcpServer(tools: readonly McpTool[]): Promise<RunningMcpServer> {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'acceptance', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({
      tools: running.tools.map(({ name, description, inputSchema = { type: 'object' } }) => ({
        ...{ name, description, inputSchema },
      })),
    }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const tool = running.tools.find(({ name }) => name === params.name);
      const key = String((params._meta as Record<string, unknown> | undefined)?.['commonplace.dev/idempotency-key']);
      const text = (await tool?.call?.(params.arguments ?? {}, key)) ?? 'Done.';
      const image =
        tool?.image === undefined ? [] : [{ type: 'image' as const, mimeType: 'image/png', data: tool.image }];
      return { content: [{ type: 'text' as const, text }, ...image] };
    });
    return server;
  });
  const http = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const headers = new Headers();
    for (const [name, value] of Object.entries(incoming.headers))
      if (typeof value === 'string') headers.set(name, value);
    running.authorizations.add(headers.get('authorization') ?? '');
    const body = Buffer.concat(chunks);
    const request = { method: incoming.method ?? 'GET', headers, ...(body.length > 0 && { body }) };
    const answer = await handler.fetch(new Request(running.url, request));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) for await (const piece of answer.body) response.write(piece);
    response.end();
  });
  await new Promise<void>((resolve) => http.listen(0, 'localhost', resolve));
  const running: RunningMcpServer = {
    url: `http://localhost:${(http.address() as AddressInfo).port}/mcp`,
    tools,
    authorizations: new Set(),
    stop: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return running;
}
