import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '@commonplace/kit/auth';
import type { AuthInfo } from '@modelcontextprotocol/server';

/** The HTTP request that carries a message, as far as its tool needs it. */
export interface Carrier {
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Wraps a request in the form in which the protocol's library hands it on. */
export function authInfoOf(carrier: Carrier): AuthInfo {
  const { credential } = carrier.caller;
  return { token: '', clientId: credential.id, scopes: [...credential.scopes], extra: { carrier } };
}

export function carrierOf(info: AuthInfo | undefined): Carrier {
  const carrier = info?.extra?.carrier;
  if (carrier === undefined) throw new Error('an MCP message came without its request');
  return carrier as Carrier;
}
