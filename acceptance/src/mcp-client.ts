import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { System } from './system.js';

/** A revision of the protocol. 2025-11-25 has a handshake, 2026-07-28 does not. */
export type Era = '2026-07-28' | '2025-11-25';

export const ERAS: readonly Era[] = ['2026-07-28', '2025-11-25'];

/** The result of a tool call. */
export interface ToolResult {
  readonly isError: boolean;
  readonly text: string;
  /** The API's answer; for an error `{error, request_id}`. */
  readonly structured: Readonly<Record<string, unknown>>;
  /** The code of an error. */
  readonly code: string | undefined;
}

interface CallOptions {
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { readonly progress: number; readonly message?: string }) => void;
}

/** A connection of the reference client to our MCP server. */
export interface McpSession {
  readonly client: Client;
  call(name: string, args?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolResult>;
  /** Returns the names of the offered tools. */
  names(): Promise<string[]>;
  close(): Promise<void>;
}

/** Connects to a system's MCP server with a key. Rejects if the server refuses the key. */
export async function connectMcp({ baseUrl }: Pick<System, 'baseUrl'>, key: string, era: Era): Promise<McpSession> {
  const mode = era === '2026-07-28' ? { pin: era } : ('legacy' as const);
  const client = new Client({ name: 'acceptance', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', baseUrl), { requestInit }));
  return {
    client,
    async call(name, args = {}, { meta, ...options } = {}) {
      const result = await client.callTool(
        { name, arguments: { ...args }, ...(meta && { _meta: { ...meta } }) },
        options,
      );
      return resultOf(result);
    },
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    close: () => client.close(),
  };
}

type Result = Awaited<ReturnType<Client['callTool']>>;

function resultOf({ content, structuredContent = {}, isError = false }: Result): ToolResult {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const structured = structuredContent as Readonly<Record<string, unknown>>;
  return { isError, text, structured, code: (structured.error as { code?: string } | undefined)?.code };
}

/** Sends a raw message to the MCP server, like an attacker could. */
export function postMcp(
  { baseUrl }: Pick<System, 'baseUrl'>,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const accept = 'application/json, text/event-stream';
  const sent = { 'Content-Type': 'application/json', Accept: accept, ...headers };
  return fetch(new URL('/mcp', baseUrl), { method: 'POST', body, headers: sent });
}
