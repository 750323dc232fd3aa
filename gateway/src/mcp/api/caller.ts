import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '@commonplace/kit/auth';
import type { AuthInfo } from '@modelcontextprotocol/server';

/** The facts about the HTTP request of a message that its tool needs. */
export interface Carrier {
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Wraps a request as `AuthInfo`, the form in which the MCP library passes it to the handler. */
export function authInfoOf(carrier: Carrier): AuthInfo {
  const { credential } = carrier.caller;
  return { token: '', clientId: credential.id, scopes: [...credential.scopes], extra: { carrier } };
}

export function carrierOf(info: AuthInfo | undefined): Carrier {
  const carrier = info?.extra?.carrier;
  if (carrier === undefined) throw new Error('an MCP message came without its request');
  return carrier as Carrier;
}
