import { loadWhenIdle } from '@commonplace/kit/library';
import type { Middleware } from 'koa';
import type { Settings } from '../config.js';
import type { OpenInProcess } from '../in-process.js';
import type { State } from '../middleware/state.js';
import type { Route } from '../routes.js';
import type { AnswerReader } from './answers/index.js';

export const MCP_PATH = '/mcp';

export interface McpParts {
  readonly settings: Pick<
    Settings,
    'publicUrl' | 'mcpHosts' | 'mcpOrigins' | 'mcpBodyBytes' | 'mcpResultChars' | 'mcpWaitSeconds'
  >;
  readonly routes: readonly Route[];
  /** Sends a request through all of the API's middleware. */
  readonly send: OpenInProcess;
  readonly answers: AnswerReader;
  /** The gates that every message passes: authentication and rate limits. */
  readonly gates: readonly Middleware<State>[];
}

/**
 * Serves the MCP server at `POST /mcp` (Model Context Protocol 2026-07-28 and 2025-11-25, streamable HTTP). It has no
 * sessions: any replica answers any message. Passes every other path on. The protocol's library is loaded when the process
 * is idle, or by the first request, so that starts do without it.
 */
export function serveMcp(parts: McpParts): Middleware<State> {
  let server: Promise<Middleware<State>> | undefined;
  const load = () => {
    server ??= loadServer(parts).catch((error) => {
      // The next request tries again.
      server = undefined;
      throw error;
    });
    return server;
  };
  loadWhenIdle(load);
  return async (ctx, next) => {
    if (ctx.path !== MCP_PATH) return next();
    ctx._matchedRoute = MCP_PATH;
    return (await load())(ctx, next);
  };
}

async function loadServer(parts: McpParts): Promise<Middleware<State>> {
  const { createMcpServer } = await import('./handle.js');
  return createMcpServer(parts);
}
