import type { Guard } from '@commonplace/kit/fetch';
import type {
  CallToolResult,
  Client,
  ClientOptions,
  DiscoverResult,
  InputRequiredResult,
  InputResponses,
  PriorDiscovery,
  Tool as ServerTool,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { McpServerRecord, McpToolRecord, McpVerdict } from '../stores/mcp-servers.js';
import { type McpFailure, mcpFailure } from './failure.js';
import { McpHttp } from './http.js';
import { loadLibrary } from './library.js';
import { MAX_CALL_BYTES, MAX_DISCOVER_BYTES, MAX_LIST_BYTES, MAX_LIST_PAGES, VERDICT_MS } from './limits.js';
import { withoutMalformedTools } from './malformed-tools.js';

/** The access to a server, besides its record. */
export interface McpAccess {
  readonly guard: Guard;
  /** Headers for the server, including its credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns an access token; `rejected` is a token that the server has just refused. */
  token?(rejected?: string): Promise<string | undefined>;
}

/** The list of tools of a server, and properties of the server found on the way. */
export interface Listing {
  readonly tools: readonly ServerTool[];
  /** Why listed tools are left out that do not follow the protocol, each with its name. */
  readonly malformed: readonly string[];
  readonly verdict: McpVerdict;
  readonly protocolVersion: string | undefined;
  /** Milliseconds for which the list is valid according to the server. */
  readonly ttlMs: number | undefined;
}

interface ToolCall {
  readonly tool: McpToolRecord;
  readonly args: Readonly<Record<string, unknown>>;
  /** The key of the call, which is the same for each attempt. */
  readonly idempotencyKey: string;
  /** Answers to questions that the server has asked before. */
  readonly inputResponses?: InputResponses | undefined;
  readonly requestState?: string | undefined;
}

export type CallOutcome = CallToolResult | InputRequiredResult;

/** Thrown if a tool was called and it is unknown whether the server has acted. */
export class CallLost extends Error {
  constructor(readonly failure: McpFailure) {
    super(failure.message);
  }
}

const IMPLEMENTATION = { name: 'Commonplace', version: '1.0' };
/** A validator that accepts everything: results are text for a model, and schemas of servers are never compiled. */
const UNCHECKED: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator:
    <T>() =>
    (input: unknown) => ({ valid: true, data: input as T & {}, errorMessage: undefined }),
};

interface Connection {
  readonly client: Client;
  readonly transport: SSEClientTransport | StreamableHTTPClientTransport;
}

/** Lists the tools of a server. Throws `McpFailure`. */
export async function listTools(server: McpServerRecord, access: McpAccess, signal: AbortSignal): Promise<Listing> {
  return withConnection(server, access, { signal, maxBytes: MAX_LIST_BYTES }, async ({ client, transport }) => {
    const malformed = await withoutMalformedTools(transport);
    const result = await client.listTools(undefined, { signal, timeout: server.timeoutMs, cacheMode: 'bypass' });
    const { ttlMs } = result as { readonly ttlMs?: unknown };
    return {
      tools: result.tools,
      malformed,
      verdict: verdictOf(client),
      protocolVersion: client.getNegotiatedProtocolVersion(),
      ttlMs: typeof ttlMs === 'number' ? ttlMs : undefined,
    };
  });
}

/** Calls a tool. Throws `McpFailure` if the server has not acted, and `CallLost` if that is unknown. */
export function callTool(
  server: McpServerRecord,
  access: McpAccess,
  { tool, args, idempotencyKey, inputResponses, requestState }: ToolCall,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const ended = new AbortController();
  const limits = { signal: AbortSignal.any([signal, ended.signal]), maxBytes: MAX_CALL_BYTES };
  return withConnection(server, access, limits, async ({ client }) => {
    const { name, inputSchema } = tool;
    const params = {
      name,
      arguments: { ...args },
      _meta: { 'commonplace.dev/idempotency-key': idempotencyKey },
      ...(inputResponses !== undefined && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    };
    return client.callTool(params as Parameters<Client['callTool']>[0], {
      signal: limits.signal,
      timeout: server.timeoutMs,
      maxTotalTimeout: server.timeoutMs,
      allowInputRequired: true,
      headers: { 'Idempotency-Key': idempotencyKey },
      // Without an output schema, the library compiles nothing that comes from the server.
      toolDefinition: { name, inputSchema: inputSchema as ServerTool['inputSchema'] },
      // Without this, a stream that ends without a result would be waited for until the timeout.
      onRequestStreamEnd: () => setTimeout(() => ended.abort(), STREAM_END_MS).unref(),
    });
  });
}

/** Milliseconds to wait for the last message after the end of a stream. */
const STREAM_END_MS = 250;

interface Limits {
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

async function withConnection<T>(
  server: McpServerRecord,
  access: McpAccess,
  limits: Limits,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const prior = priorOf(server.verdict);
  try {
    return await connectAnd(server, access, limits, prior, use);
  } catch (error) {
    // A server that has changed its protocol revision reports that before it acts, so the call can be repeated.
    const failed = error instanceof CallLost ? undefined : (error as McpFailure);
    if (prior === undefined || failed?.isOtherEra !== true || limits.signal.aborted) throw error;
    return connectAnd(server, access, limits, undefined, use);
  }
}

async function connectAnd<T>(
  { url, transport: kind, timeoutMs }: McpServerRecord,
  { guard, headers, token }: McpAccess,
  { signal, maxBytes }: Limits,
  prior: PriorDiscovery | undefined,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await loadLibrary();
  const target = new URL(url);
  const listens = kind === 'sse';
  const http = new McpHttp(guard, {
    ...{ maxBytes, signal, headers, origin: target.origin, listens },
    ...(token !== undefined && { token }),
  });
  const client = new Client(IMPLEMENTATION, {
    capabilities: { elicitation: { form: {}, url: {} } },
    inputRequired: { autoFulfill: false },
    jsonSchemaValidator: UNCHECKED,
    listMaxPages: MAX_LIST_PAGES,
    versionNegotiation: { mode: listens ? 'legacy' : 'auto' },
  });
  // Servers of the older revision ask during a call. The question could not outlive this process, so it is cancelled.
  client.setRequestHandler('elicitation/create', () => ({ action: 'cancel' }));
  const transport = listens
    ? new SSEClientTransport(target, { fetch: http.fetch })
    : new StreamableHTTPClientTransport(target, { fetch: http.fetch, reconnectionOptions: RECONNECTION });
  try {
    await client.connect(transport, { signal, timeout: timeoutMs, ...(prior !== undefined && { prior }) });
    return await use({ client, transport });
  } catch (error) {
    const failure = await mcpFailure(error, http);
    if (http.call === 'sent' && failure.kind !== 'answered' && failure.kind !== 'missing') throw new CallLost(failure);
    throw failure;
  } finally {
    await endSession(client, transport);
  }
}

const RECONNECTION = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 3,
};

/** Ends the session at a server of the older revision, without waiting long for an answer. */
async function endSession(
  client: Client,
  transport: SSEClientTransport | StreamableHTTPClientTransport,
): Promise<void> {
  if ('sessionId' in transport && transport.sessionId !== undefined) {
    const patience = new Promise((resolve) => setTimeout(resolve, SESSION_END_MS).unref());
    await Promise.race([transport.terminateSession().catch(() => {}), patience]);
  }
  await client.close().catch(() => {});
}

const SESSION_END_MS = 1_000;

function priorOf(verdict: McpVerdict | undefined): PriorDiscovery | undefined {
  if (verdict === undefined || Date.parse(verdict.at) < Date.now() - VERDICT_MS) return undefined;
  if (verdict.kind === 'legacy') return { kind: 'legacy' };
  if (verdict.discover === undefined) return undefined;
  return { kind: 'modern', discover: JSON.parse(verdict.discover) as DiscoverResult };
}

function verdictOf(client: Client): McpVerdict {
  const at = new Date().toISOString();
  if (client.getProtocolEra() !== 'modern') return { kind: 'legacy', at };
  const discover = JSON.stringify(client.getDiscoverResult() ?? null);
  const isKept = discover !== 'null' && Buffer.byteLength(discover) <= MAX_DISCOVER_BYTES;
  return { kind: 'modern', at, ...(isKept && { discover }) };
}
